// The gamma function of doubles.

// gamma(x) for x in [9, 190] as a product of two, either in range: DLMF 5.11.3, x^(x - 1/2) in two equal factors.
dvec2 pm_gamma_factors(double x) {
    double root = pm_pow_positive(x, 0.5lf * x - 0.25lf), w = 1.0lf / x, z = w * w;
    double series = w * (0.08333333333333333lf - z * (0.002777777777777778lf - z * (0.0007936507936507937lf
        - z * (0.0005952380952380953lf
        - z * (0.0008417508417508417lf - z * (0.0019175269175269176lf - z * 0.00641025641025641lf))))));
    return dvec2(root * 2.5066282746310007lf * (1.0lf + pm_expm1_near(series)) * pm_exp(-x), root);
}

// Up to 9 by products, into [1, 2]; then by Stirling's series. Below 0 by reflection, DLMF 5.5.3.
double pm_tgamma(double x) {
    if (pm_isnan(x) || x > 172.0lf) return x + packDouble2x32(uvec2(0u, 0x7ff00000u));
    if (x == 0.0lf) return pm_copysign(packDouble2x32(uvec2(0u, 0x7ff00000u)), x);
    if (x < 0.0lf && x == pm_floor(x)) return packDouble2x32(uvec2(0u, 0x7ff80000u));
    if (x > 9.0lf) {
        dvec2 factors = pm_gamma_factors(x);
        return factors.x * factors.y;
    }
    if (x < -9.0lf) {
        bool odd = pm_floor(x) != 2.0lf * pm_floor(0.5lf * pm_floor(x));
        if (x < -190.0lf) return odd ? -0.0lf : 0.0lf;
        double nearest = pm_rint(x), s = abs(pm_sin(3.141592653589793lf * (x - nearest)));
        dvec2 factors = pm_gamma_factors(-x);
        double r = 3.141592653589793lf / (-x * s * factors.x) / factors.y;
        return odd ? -r : r;
    }
    double above = 1.0lf, below = 1.0lf;
    for (int i = 0; i < 8 && x > 2.0lf; ++i) { x -= 1.0lf; above *= x; }
    for (int i = 0; i < 11 && x < 1.0lf; ++i) { below *= x; x += 1.0lf; }
    double u = x - 1.5lf;
    return (0.886226925452758lf + u * (0.032338397448884865lf + u * (0.41481345368830125lf + u * (-0.107294804564719lf
        + u * (0.14464535904458606lf + u * (-0.07752305230537157lf + u * (0.05861030382085454lf
        + u * (-0.03800193529134834lf + u * (0.02583760628007813lf + u * (-0.01722245008885133lf
        + u * (0.011522520042662803lf + u * (-0.007690098921057152lf + u * (0.005131568539695762lf
        + u * (-0.0034239612838414227lf + u * (0.0022833622890860634lf + u * (-0.0015142364392563075lf
        + u * (0.0010096053142759128lf + u * (-0.0007101710237414608lf + u * (0.0004734656764602699lf
        + u * (-0.0002116366966022488lf + u * (0.000141093980175924lf + u * (-0.00026048686591686527lf
        + u * 0.0001736585029100638lf)))))))))))))))))))))) * above / below;
}
