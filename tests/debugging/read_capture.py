# read_capture.py CAPTURE NAME LINE: RenderDoc opens the capture and finds in the dispatch's shader the file, its text and the
# line; its debugger steps through an item and knows a variable's value.
import sys
import renderdoc as rd

capture, name, line = sys.argv[1], sys.argv[2], int(sys.argv[3])
rd.InitialiseReplay(rd.GlobalEnvironment(), [])
file = rd.OpenCaptureFile()
result = file.OpenFile(capture, "", None)
if result != rd.ResultCode.Succeeded:
    sys.exit("the capture does not open: %s" % result)
result, controller = file.OpenCapture(rd.ReplayOptions(), None)
if result != rd.ResultCode.Succeeded:
    sys.exit("the capture cannot be replayed: %s" % result)


def dispatches(actions):
    for action in actions:
        if action.flags & rd.ActionFlags.Dispatch:
            yield action
        yield from dispatches(action.children)


found = list(dispatches(controller.GetRootActions()))
if len(found) != 1:
    sys.exit("%d dispatches instead of one" % len(found))
controller.SetFrameEvent(found[0].eventId, True)
pipeline = controller.GetPipelineState()
shader = pipeline.GetShaderReflection(rd.ShaderStage.Compute)
files = [f for f in shader.debugInfo.files if f.filename.endswith(name)]
if not files:
    sys.exit("no %s among %s" % (name, [f.filename for f in shader.debugInfo.files]))
if "mark: stored" not in files[0].contents.split("\n")[line - 1]:
    sys.exit("line %d of the file is %s" % (line, files[0].contents.split("\n")[line - 1 : line]))
print("file and text found; debuggable: %s %s" % (shader.debugInfo.debuggable, shader.debugInfo.debugStatus))

trace = controller.DebugThread((0, 0, 0), (2, 0, 0))
if trace.debugger is None:
    sys.exit("the debugger does not start")
else:
    lines, where = set(), {}
    for info in trace.instInfo:
        lines.add(info.lineInfo.lineStart)
        for v in info.sourceVars:
            where[v.name] = [r.name for r in v.variables]
    # The values of the shader's variables, as the item goes on; `twice` is one of them, or a pointer to one.
    values = {}
    while True:
        states = controller.ContinueDebug(trace.debugger)
        if not states:
            break
        for state in states:
            for change in state.changes:
                values[change.after.name] = change.after.value.f32v[0]
    variables = {name: [values.get(id) for id in ids] for name, ids in where.items()}
    print("lines %s, variables %s" % (sorted(lines), variables))
    if line not in lines:
        sys.exit("the debugger does not know line %d" % line)
    if variables.get("twice") != [6.0]:
        sys.exit("the debugger does not know that twice is 6")
    controller.FreeTrace(trace)
controller.Shutdown()
file.Shutdown()
rd.ShutdownReplay()
print("RenderDoc finds file and line")
