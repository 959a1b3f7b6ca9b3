"use strict";
// Predictions of a row: exact class probabilities, and intervals from quantiles of scores with the exact first four
// cumulants. `explorer.py` describes the tables of the model.

function sumOf(items, value) {
  return items.reduce((sum, each) => sum + value(each), 0);
}

function openModel(text) {
  const model = JSON.parse(text, unpack);
  const { classes, columns, readers, features, prior } = model;
  const DRAWS = 4096, NEGLIGIBLE = 1e-4, STEP = 0.02;

  // Arrays are stored as base64 of floats.
  function unpack(_, value) {
    const bytes = value?.f4 ?? value?.f8;
    if (typeof bytes !== "string") return value;
    const buffer = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0)).buffer;
    return value.f4 === undefined ? new Float64Array(buffer) : new Float32Array(buffer);
  }

  // log Gamma and its first four derivatives: Stirling's series for arguments of 12 or more.
  const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188];
  const FACTORIAL = [1, 1, 2, 6, 24, 120];
  function logGamma(x) {
    const at = [0, 0, 0, 0, 0];
    for (; x < 12; x++) addLog(at, x, -1);
    const log = Math.log(x);
    at[0] += (x - 0.5) * log - x + 0.5 * Math.log(2 * Math.PI);
    at[1] += log - 0.5 / x;
    at[2] += 1 / x + 0.5 / x ** 2;
    at[3] -= 1 / x ** 2 + 1 / x ** 3;
    at[4] += 2 / x ** 3 + 3 / x ** 4;
    STIRLING.forEach((factor, n) => {
      let term = factor / x ** (2 * n + 1);
      for (let m = 0; m < 5; m++) {
        at[m] += term;
        term *= -(2 * n + 1 + m) / x;
      }
    });
    return at;
  }

  // Add the logarithm of x and its derivatives, times a factor.
  function addLog(at, x, times) {
    at[0] += times * Math.log(x);
    for (let n = 1; n < 5; n++) at[n] += (times * (n % 2 ? 1 : -1) * FACTORIAL[n - 1]) / x ** n;
  }

  // K(s) = log E[p(cell | theta)**s] of each kind of feature, with its first four derivatives in s.
  const moments = {
    levels({ a, total, margin }, s) {
      const all = logGamma(total + s);
      const at = logGamma(a + s).map((each, n) => each - all[n]);
      at[0] += logGamma(total)[0] - logGamma(a)[0] - s * margin;
      at[1] -= margin;
      return at;
    },
    // Tabulated for a histogram: at the exponent, and the second derivative at 0.
    grid: ({ table }, s) => (s ? table.slice(1, 6) : [0, 0, table[6]]),
    counts({ x, shape, rate }, s) {
      const b = rate + s, a = shape + s * x, gamma = logGamma(a);
      const at = [gamma[0] - logGamma(shape)[0] + shape * Math.log(rate) - a * Math.log(b)];
      at.push(x * (gamma[1] - Math.log(b)) - a / b);
      for (let n = 2; n < 5; n++) {
        const rows = (FACTORIAL[n - 1] * a) / b ** n - (FACTORIAL[n - 2] * n * x) / b ** (n - 1);
        at.push(x ** n * gamma[n] + (n % 2 ? -rows : rows));
      }
      return at;
    },
    // A Gaussian with unknown mean and covariance: u is the squared distance in units of the scale.
    student({ u, width, count, dof, logDet }, s) {
      const at = [(-s * (width * Math.log(Math.PI) + logDet)) / 2, -(width * Math.log(Math.PI) + logDet) / 2, 0, 0, 0];
      for (let i = 0; i < width; i++) {
        const gamma = logGamma((dof - i + s) / 2);
        gamma[0] -= logGamma((dof - i) / 2)[0];
        gamma.forEach((each, n) => (at[n] += each / 2 ** n));
      }
      addFall(at, 1 / count + u, (dof + s) / 2, s, -1);
      addFall(at, 1 / count, (dof + s - width) / 2, s, 1);
      return at;
    },
  };

  // The log predictive K(1), without differences of large numbers where possible.
  const predictives = {
    levels: ({ a, total, margin }) => Math.log(a / total) - margin,
    grid: ({ table }) => table[0],
    counts: (cell) => moments.counts(cell, 1)[0],
    student: (cell) => moments.student(cell, 1)[0],
  };

  // Add (half + e / 2) log(1 + (s + e) rho) and its derivatives in e, at e = 0.
  function addFall(at, rho, half, s, sign) {
    const q = rho / (1 + s * rho);
    const log = [Math.log1p(s * rho)];
    for (let n = 1; n < 5; n++) log.push((n % 2 ? 1 : -1) * FACTORIAL[n - 1] * q ** n);
    for (let n = 0; n < 5; n++) at[n] += sign * (half * log[n] + (n ? (n / 2) * log[n - 1] : 0));
  }

  // The code of a cell's level, as blocks of the model read it; -1 if it is ignored.
  function codeOf(reader, row) {
    const value = row[reader.column];
    if (reader.missing) return value === null ? 1 : 0;
    if (value === null) return -1;
    if (reader.codes) return reader.codes[value];
    return reader.cuts.filter((cut) => cut < value).length;
  }

  function numberOf(column, row) {
    const value = row[column], { values } = columns[column];
    return value === null ? NaN : values ? (values[value] ?? NaN) : value;
  }

  // A feature's cell as the arguments of its moments, a function of the class; null if it is ignored.
  const read = {
    levels(feature, row, codes) {
      let cell = 0;
      for (const [k, reader] of feature.readers.entries()) {
        const code = codes[reader] + feature.missing;
        if (code < 0) return null;
        cell = cell * feature.sizes[k] + code;
      }
      const group = Math.floor(cell / feature.per), c0 = cell * classes.length, g0 = group * classes.length;
      const { a, total, margin } = feature;
      const child = margin && (cell % feature.per) * classes.length;
      return (c) => ({ a: a[c0 + c], total: total[g0 + c], margin: margin ? margin[child + c] : 0 });
    },
    grid(feature, row, codes) {
      const code = codes[feature.readers[0]];
      const start = (c) => (code * classes.length + c) * 7;
      return code < 0 ? null : (c) => ({ table: feature.table.subarray(start(c), start(c) + 7) });
    },
    counts(feature, row) {
      const x = numberOf(feature.columns[0], row);
      return isNaN(x) ? null : (c) => ({ x, shape: feature.shape[c], rate: feature.rate[c] });
    },
    student(feature, row, codes) {
      let x = feature.columns.map((column) => numberOf(column, row));
      if (feature.indicators) x.push(...indicators(feature.indicators, codes));
      if (feature.scale) x = standardise(feature.scale, x);
      const present = x.flatMap((value, j) => (isNaN(value) ? [] : [j]));
      const { size, count, dof } = feature;
      if (!present.length) return null;
      return (c) => {
        const { root, logDet } = rootOf(feature, c, present);
        const gap = present.map((j) => x[j] - feature.location[c * size + j]);
        const u = Math.min(sumOf(solve(root, gap), (each) => each ** 2), 1e300); // it may overflow
        return { u, logDet, width: gap.length, count: count[c], dof: dof[c] - (size - gap.length) };
      };
    },
  };

  function indicators({ readers: which, sizes, ends }, codes) {
    const flags = which.flatMap((reader, k) =>
      Array.from({ length: sizes[k] }, (_, level) => (codes[reader] < 0 ? NaN : Number(codes[reader] === level))));
    return ends.map(([a, b]) => flags[a] * flags[b]);
  }

  function standardise({ bent, start, unit, mean, sd, most, whitening }, x) {
    const z = x.map((value, j) => {
      const u = (value - start[j]) / unit[j];
      return Math.min(Math.max(((bent[j] ? Math.asinh(u) : u) - mean[j]) / sd[j], -most), most);
    });
    let square = 0;
    for (let i = 0; i < z.length; i++) {
      let sum = 0;
      for (let j = 0; j < z.length; j++) sum += whitening[i * z.length + j] * (z[j] || 0);
      square += sum ** 2;
    }
    return z.map((value) => value / Math.max(Math.sqrt(square), 1));
  }

  // The Cholesky factor of the scale of a row's known columns, kept for the next row.
  function rootOf(feature, c, present) {
    feature.roots ??= new Map();
    const key = `${c}:${present}`;
    if (!feature.roots.has(key)) {
      const { size, matrix } = feature;
      const entries = present.map((i) => present.map((j) => matrix[(c * size + i) * size + j]));
      const root = cholesky(entries);
      feature.roots.set(key, { root, logDet: 2 * sumOf([...root.entries()], ([i, line]) => Math.log(line[i])) });
    }
    return feature.roots.get(key);
  }

  function cholesky(matrix) {
    const root = matrix.map((line) => line.map(() => 0));
    for (let i = 0; i < root.length; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = matrix[i][j];
        for (let k = 0; k < j; k++) sum -= root[i][k] * root[j][k];
        if (i === j) root[i][i] = Math.sqrt(Math.max(sum, 0));
        else root[i][j] = root[j][j] ? sum / root[j][j] : 0;
      }
    }
    return root;
  }

  function solve(root, gap) {
    const out = [];
    for (let i = 0; i < gap.length; i++) {
      let sum = gap[i];
      for (let k = 0; k < i; k++) sum -= root[i][k] * out[k];
      out.push(sum / root[i][i]);
    }
    return out;
  }

  // The log predictive of each feature and class of a row, and the class probabilities.
  function predict(row) {
    const codes = readers.map((reader) => codeOf(reader, row));
    const cells = features.map((feature) => read[feature.kind](feature, row, codes));
    const one = features.map((feature, f) =>
      classes.map((_, c) => (cells[f] ? predictives[feature.kind](cells[f](c)) : 0)));
    const score = prior.log.map((log, c) => log + sumOf([...features.keys()], (f) => weigh(f, one[f][c])));
    return { cells, one, score, share: softmax(score) };
  }

  // A feature with exponent 0 contributes 0, even where a cell is impossible.
  function weigh(f, logDensity) {
    return features[f].power ? features[f].power * logDensity : 0;
  }

  function softmax(score) {
    const top = Math.max(...score);
    const weight = score.map((each) => Math.exp(each - top));
    const sum = sumOf(weight, (each) => each);
    return weight.map((each) => each / sum);
  }

  // Four cumulants of each class's score given the row, and each term's variance before seeing it.
  function cumulants({ cells, one }) {
    const seen = prior.seen.map((each) => [...each]);
    const variance = features.map(() => classes.map(() => 0));
    for (const [f, { kind, power }] of features.entries()) {
      if (!cells[f] || !power) continue;
      for (const c of classes.keys()) {
        const cell = cells[f](c);
        const after = moments[kind](cell, power);
        for (let n = 1; n < 5; n++) seen[c][n - 1] += power ** n * after[n];
        seen[c][0] += power * one[f][c] - after[0]; // so that the predictive keeps its exponent
        variance[f][c] = power ** 2 * moments[kind](cell, 0)[2];
      }
    }
    return { seen, variance };
  }

  // Covariance of the scores due to the exponents: A C A', with the derivatives A and the exponents' covariance C.
  function exponentCovariance({ one }) {
    const { exponents } = model;
    if (!exponents) return null;
    const { size, matrix } = exponents;
    const by = classes.map((_, c) => {
      const sums = new Float64Array(size);
      features.forEach((feature, f) => (sums[feature.group] += Number.isFinite(one[f][c]) ? one[f][c] : 0));
      return sums;
    });
    const turned = by.map((each) =>
      Float64Array.from(each, (_, i) => each.reduce((sum, value, j) => sum + value * matrix[i * size + j], 0)));
    return by.map((one) => turned.map((two) => one.reduce((sum, value, i) => sum + value * two[i], 0)));
  }

  // Quasi-random uniform variates, multiples of square roots of primes, and the normal variates from them.
  const points = [], primes = [];
  function variates(width) {
    for (let n = (primes.at(-1) ?? 1) + 1; points.length < width; n++) {
      if (primes.some((prime) => n % prime === 0)) continue;
      const uniform = Float64Array.from({ length: DRAWS }, (_, i) => ((i + 0.5) * Math.sqrt(n)) % 1);
      points.push({ uniform, normal: uniform.map(normalQuantile) });
      primes.push(n);
    }
    return points;
  }

  // The normal quantile, with errors up to 5e-4: Hastings (1955), Approximations for digital computers.
  function normalQuantile(p) {
    if (p > 0.5) return -normalQuantile(1 - p);
    const t = Math.sqrt(-2 * Math.log(p));
    return (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  }

  // Quantiles of a score by the Cornish-Fisher expansion, bounded where it is far from normal.
  function expand([mean, variance, third, fourth]) {
    const sd = Math.sqrt(Math.max(variance, 0));
    let skew = sd ? third / sd ** 3 : 0, tail = sd ? fourth / variance ** 2 : 0;
    const most = Math.max(1, Math.abs(skew), Math.sqrt(Math.abs(tail) / 2));
    [skew, tail] = [skew / most, tail / most ** 2];
    return (z) => mean + sd * (z + ((z * z - 1) * skew) / 6 + ((z ** 3 - 3 * z) * tail) / 24 - ((2 * z ** 3 - 5 * z) * skew ** 2) / 36);
  }

  // Quantiles of a score before seeing the row, from those after: the density before is exp(K(1) - u) times as large.
  // It may be far from normal: where it has a long left tail, its class has no probability.
  function unsee(after, logMoment) {
    const values = [], above = [];
    for (let z = 6, total = 0; z >= -6 && total < 1; z -= STEP) {
      const u = after(z);
      total += (STEP * Math.exp(logMoment - u - (z * z) / 2)) / Math.sqrt(2 * Math.PI);
      values.push(u);
      above.push(total);
    }
    return (p) => {
      let low = 0, high = above.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (above[middle] < 1 - p) low = middle + 1;
        else high = middle;
      }
      return values[low] ?? -Infinity;
    };
  }

  // Equal-tailed intervals of the probabilities. The row itself is evidence about the parameters, too.
  function intervals(predicted, seen) {
    const { share, score } = predicted;
    const active = [...classes.keys()].filter((c) => share[c] > NEGLIGIBLE);
    const ends = share.map((p) => [p, p]);
    if (active.length < 2) return ends;
    const covariance = exponentCovariance(predicted);
    const among = covariance && active.map((c) => active.map((k) => covariance[c][k]));
    const root = among && cholesky(among);
    const [first, ...others] = variates(1 + active.length * (root ? 2 : 1));
    const after = active.map((c) => expand(seen[c]));
    const before = active.map((c, k) => unsee(after[k], score[c] - prior.log[c] + prior.moment[c]));
    const total = sumOf(active, (c) => share[c]);
    const drawn = active.map(() => new Float64Array(DRAWS));
    for (let i = 0; i < DRAWS; i++) {
      let who = 0, left = first.uniform[i] * total;
      while (who < active.length - 1 && left > share[active[who]]) left -= share[active[who++]];
      const drawnScore = active.map((_, k) => {
        const { uniform, normal } = others[k];
        let value = k === who ? after[k](normal[i]) : before[k](uniform[i]);
        if (root) {
          for (let j = 0; j <= k; j++) value += root[k][j] * others[active.length + j].normal[i];
          value -= (among[k][k] - 2 * among[k][who] + among[who][who]) / 2;
        }
        return value;
      });
      softmax(drawnScore).forEach((p, k) => (drawn[k][i] = p));
    }
    active.forEach((c, k) => {
      drawn[k].sort();
      ends[c] = [(1 - model.prob) / 2, (1 + model.prob) / 2].map((p) => drawn[k][Math.round(p * DRAWS - 0.5)]);
    });
    return ends;
  }

  // Probabilities, intervals and terms of a row: cells by column, null for an unknown one.
  function ask(row) {
    const predicted = predict(row);
    const { seen, variance } = cumulants(predicted);
    return { ...predicted, variance, ends: model.intervals ? intervals(predicted, seen) : null };
  }
  return { ...model, ask, predict, weigh };
}
