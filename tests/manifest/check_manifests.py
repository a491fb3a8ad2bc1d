"""check_manifests.py SCHEMA FOLDER [OPTIONAL...]: every *.json of the folder fits the schema, and no longer does with one field more or less.

Fields that may be absent are listed here, or given by name: a field that the schema does not require and this list does not name is an error, too.
"""
import copy
import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore", category=DeprecationWarning)
import jsonschema  # noqa: E402

OPTIONAL = {
    "source", "group_size_required", "full_groups", "at_origin", "range_required", "argument_block", "sized_locals", "ring",
    "name", "parameter", "path", "shadow_of", "direction", "order",
}


def objects(value, path=()):
    """The objects of a document with their paths, outermost first."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from objects(inner, path + (key,))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, path + (index,))


def changed(document, path, change):
    made = copy.deepcopy(document)
    at = made
    for key in path:
        at = at[key]
    change(at)
    return made


def shortened(value):
    """The document with at most three elements of each list: each planted error validates all of it again."""
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    return [shortened(inner) for inner in value[:3]] if isinstance(value, list) else value


def main(schema_file, folder, *more_optional):
    schema = json.loads(pathlib.Path(schema_file).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong, extra, missing = [], 0, 0
    manifests = sorted(pathlib.Path(folder).glob("*.json"))
    if not manifests:
        wrong.append(f"{folder} has no manifest")
    for file in manifests:
        manifest = json.loads(file.read_text())
        for error in validator.iter_errors(manifest):
            wrong.append(f"{file.name} at {list(error.absolute_path)}: {error.message[:400]}")
        manifest = shortened(manifest)
        for path in objects(manifest):
            if validator.is_valid(changed(manifest, path, lambda at: at.update(planted=1))):
                wrong.append(f"{file.name} at {list(path)}: a field more is accepted")
            extra += 1
            at = manifest
            for key in path:
                at = at[key]
            for field in at:
                if field in OPTIONAL or field in more_optional:
                    continue
                if validator.is_valid(changed(manifest, path, lambda at: at.pop(field))):
                    wrong.append(f"{file.name} at {list(path)}: the absence of {field} is accepted")
                missing += 1
    print(f"{len(manifests)} manifests, {extra} fields planted, {missing} fields removed")
    print("\n".join(wrong) if wrong else "every planted error was refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
