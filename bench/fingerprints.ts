// Measures whether code findings are recognised after edits. Random files with one fault each are scanned, randomly
// edited and scanned again. Edits elsewhere must keep the fingerprint. Edits to the flagged statement must change it.
// Edits to nearby statements must keep the secondary hash, so an ignored finding stays ignored.
import { createHash } from 'node:crypto';
import type { Bench } from '../harness/bench.ts';
import { rounded } from '../harness/statistics.ts';
import { createAppReader } from '../server/src/features/security/code/scan-file.ts';

const editsPerFile = 20;

export const fingerprints: Bench = async ({ quick, progress }) => {
  const startedAt = performance.now();
  const seed = Number(process.env.BENCH_SEED ?? 1);
  const counts = quick
    ? { outside: 3_000, inside: 500, near: 500 }
    : { outside: 100_000, inside: 10_000, near: 10_000 };
  const random = createRandom(seed);
  const outside = measure(random, counts.outside, editOutside, (a, b) => a.id === b.id, progress);
  const inside = measure(random, counts.inside, editInside, (a, b) => a.id !== b.id, progress);
  const near = measure(random, counts.near, editNear, (a, b) => a.secondary === b.secondary, progress);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    figures: {
      seed,
      outside_edits: counts.outside,
      outside_changed: outside,
      inside_edits: counts.inside,
      inside_kept: inside,
      near_edits: counts.near,
      near_lost: near,
      seconds: rounded(seconds, 1),
      ms_per_scan: rounded((seconds * 1000) / (sum(counts) * (1 + 1 / editsPerFile)), 2),
    },
    judged: [
      { bar: `${counts.outside} edits outside of the window keep the fingerprint`, met: outside === 0 },
      { bar: `${counts.inside} edits of the flagged statement change it`, met: inside === 0 },
      { bar: `${counts.near} edits near the flagged statement keep the secondary hash`, met: near === 0 },
    ],
    skipped: [],
  };
};

const sum = ({ outside, inside, near }: { outside: number; inside: number; near: number }) => outside + inside + near;

interface Random {
  below(count: number): number;
  of<Item>(items: readonly Item[]): Item;
}

function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  return {
    below,
    of: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('nothing to choose from');
      return item;
    },
  };
}

/** A file's formatting, which does not affect its meaning. */
interface Style {
  readonly quote: "'" | '"';
  readonly semicolon: string;
  readonly indent: string;
  readonly newline: string;
  readonly parenthesis: boolean;
  readonly braces: boolean;
  readonly trailingComma: boolean;
  readonly mark: string;
  /** Comments and empty lines between statements. */
  readonly between: readonly string[];
}

interface Sketch {
  readonly path: string;
  readonly rule: string;
  readonly imports: readonly string[];
  readonly before: readonly string[];
  readonly statements: readonly string[];
  /** The index of the flagged statement. */
  readonly at: number;
  readonly after: readonly string[];
  readonly style: Style;
}

interface Fingerprint {
  readonly id: string;
  readonly secondary: string | null;
}

function measure(
  random: Random,
  count: number,
  edit: (random: Random, sketch: Sketch) => Sketch,
  isRight: (before: Fingerprint, after: Fingerprint) => boolean,
  progress: (line: string) => void,
): number {
  let wrong = 0;
  for (let done = 0; done < count; done += editsPerFile) {
    const sketch = drawSketch(random);
    const before = fingerprintOf(sketch);
    for (let at = 0; at < Math.min(editsPerFile, count - done); at += 1) {
      const edited = edit(random, sketch);
      if (isRight(before, fingerprintOf(edited))) continue;
      wrong += 1;
      if (wrong <= 3) progress(`WRONG after ${edit.name}:\n${render(sketch)}\n-----\n${render(edited)}`);
    }
    if (done % 1_000 === 0) progress(`${edit.name}: ${done} edits, ${wrong} wrong`);
  }
  return wrong;
}

function fingerprintOf(sketch: Sketch): Fingerprint {
  const reader = createAppReader();
  reader.program.add(sketch.path, render(sketch));
  const { functions, staticCode } = reader.read(sketch.path);
  const found = [...functions, ...staticCode].filter(({ rule_id }) => rule_id === sketch.rule);
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new Error(`${found.length} findings of ${sketch.rule} in\n${render(sketch)}`);
  const id = createHash('sha256')
    .update(['v1', only.rule_id, ...only.identity, 0].join('\0'))
    .digest('hex');
  return { id, secondary: only.secondary };
}

const words = ['red', 'blue', 'total', 'draft', 'label', 'count', 'level', 'page', 'north', 'small', 'list', 'part'];
const plainStyle: Style = {
  quote: "'",
  semicolon: ';',
  indent: '  ',
  newline: '\n',
  parenthesis: true,
  braces: true,
  trailingComma: true,
  mark: '',
  between: [],
};

const word = (random: Random) => `${random.of(words)}${random.below(1_000)}`;

/** A statement that is not flagged, with unique names. */
function drawStatement(random: Random): string {
  const name = word(random);
  return random.of([
    `const ${name} = ${random.below(1_000)}§`,
    `const ${name} = [«${word(random)}», «${word(random)}»¸]§`,
    `const ${name} = { ${word(random)}: «${word(random)}», size: ${random.below(50)}¸ }§`,
    `console.info(«${word(random)}», ${random.below(99)})§`,
    `const ${name} = [1, 2, ${random.below(9)}].map(‹item› => item * ${random.below(9)})§`,
    `if (Date.now() > ${random.below(1_000)}) ⟨console.warn(«${word(random)}»)§⟩`,
    `for (const each of [1, 2]) ⟨console.debug(each, «${word(random)}»)§⟩`,
  ]);
}

const drawFunction = (random: Random): string =>
  `function ${word(random)}(value)⟦${Array.from({ length: 1 + random.below(4) }, () => drawStatement(random)).join('\n')}\nreturn value§⟧`;

interface Fault {
  readonly rule: string;
  readonly path: string;
  readonly open: string;
  readonly close: string;
  draw(random: Random): string;
}

const handler = { path: 'functions/handler.ts', open: 'Deno.serve(async (req)=>⟦', close: '⟧)§' };

const faults: readonly Fault[] = [
  {
    ...handler,
    rule: 'code.sql-injection',
    draw: (random) =>
      `const ${word(random)} = await db.query(\`select ${word(random)} from ${word(random)} where ${word(random)} = '\${new URL(req.url).searchParams.get(«${word(random)}»)}'\`)§`,
  },
  {
    ...handler,
    rule: 'code.ssrf',
    draw: (random) =>
      `const ${word(random)} = await fetch(new URL(req.url).searchParams.get(«${word(random)}»), { method: «${random.of(['GET', 'HEAD'])}», redirect: «${word(random)}»¸ })§`,
  },
  {
    ...handler,
    rule: 'code.path-traversal',
    draw: (random) =>
      `const ${word(random)} = await Deno.readTextFile(«./${word(random)}/» + new URL(req.url).searchParams.get(«${word(random)}»))§`,
  },
  {
    ...handler,
    rule: 'functions.unsafe-redirect',
    draw: (random) =>
      `if (req.method === «GET») ⟨return Response.redirect(new URL(req.url).searchParams.get(«${word(random)}»), ${300 + random.below(9)})§⟩`,
  },
  {
    ...handler,
    rule: 'functions.secret-in-response',
    draw: (random) =>
      `if (req.method === «GET») ⟨return Response.json({ ${word(random)}: Deno.env.get(«${word(random).toUpperCase()}_SECRET»), size: ${random.below(90)}¸ })§⟩`,
  },
  {
    ...handler,
    rule: 'functions.no-caller-check',
    draw: (random) =>
      `await db.asServiceRole.entities.${word(random)}.update(«${word(random)}», { ${word(random)}: ${random.below(99)}¸ })§`,
  },
  {
    path: 'src/lib/view.ts',
    open: 'export function show(place)⟦',
    close: '⟧',
    rule: 'code.xss-html',
    draw: (random) =>
      `place.innerHTML = «<b class=${word(random)}>» + location.hash.slice(${1 + random.below(9)}) + «</b>»§`,
  },
  {
    path: 'src/lib/go.ts',
    open: 'export const go = ()=>⟦',
    close: '⟧§',
    rule: 'code.open-redirect',
    draw: (random) => `window.location.href = new URLSearchParams(location.search).get(«${word(random)}»)§`,
  },
];

function drawSketch(random: Random): Sketch {
  const fault = random.of(faults);
  const around = () => Array.from({ length: 5 + random.below(4) }, () => drawStatement(random));
  const before = around();
  return {
    path: fault.path,
    rule: fault.rule,
    imports: Array.from({ length: random.below(3) }, () => `import { ${word(random)} } from «${word(random)}»§`),
    before: Array.from({ length: random.below(3) }, () => drawFunction(random)),
    statements: [...before, fault.draw(random), ...around()],
    at: before.length,
    after: Array.from({ length: random.below(3) }, () => drawFunction(random)),
    style: plainStyle,
  };
}

const faultOf = ({ rule, path }: Sketch): Fault => {
  const fault = faults.find((each) => each.rule === rule && (each.path === path || each.rule.length > 0));
  if (fault === undefined) throw new Error(`no fault ${rule}`);
  return fault;
};

/**
 * Placeholders: `«»` are quotes, `§` a semicolon, `¸` a trailing comma, `‹›` an arrow function's parentheses, `⟨⟩` a
 * branch's braces, and `⟦⟧` a body's braces.
 */
function render(sketch: Sketch): string {
  const { style, imports, before, statements, after } = sketch;
  const { open, close } = faultOf(sketch);
  const text = [...imports, ...before, `${open}${statements.join('\n')}${close}`, ...after].join('\n');
  let depth = 0;
  let line = 0;
  const lines = text
    .replace(/[«»]/g, style.quote)
    .replaceAll('§', style.semicolon)
    .replaceAll('¸', style.trailingComma ? ',' : '')
    .replaceAll('‹', style.parenthesis ? '(' : '')
    .replaceAll('›', style.parenthesis ? ')' : '')
    .replaceAll('⟨', style.braces ? '{ ' : '')
    .replaceAll('⟩', style.braces ? ' }' : '')
    .replaceAll('⟦', ' {\n')
    .replaceAll('⟧', '\n}')
    .split('\n')
    .flatMap((each) => {
      if (each.startsWith('}')) depth -= 1;
      const written = `${style.indent.repeat(Math.max(0, depth))}${each}`;
      if (each.endsWith('{')) depth += 1;
      line += 1;
      const comment = style.between.length === 0 ? undefined : style.between[line % style.between.length];
      return comment === undefined ? [written] : [comment, written];
    });
  return `${style.mark}${lines.join(style.newline)}${style.newline}`;
}

const comments = ['', '// note', '/* two\n   lines */', '/** Says why. */', '\t', '// TO', '   '];

/** Makes an edit that keeps the meaning, or that is far from the flagged statement. */
function editOutside(random: Random, sketch: Sketch): Sketch {
  const { statements, at, before, after, imports, style } = sketch;
  const far = random.of([random.below(Math.max(1, at - 3)), Math.min(statements.length, at + 4 + random.below(3))]);
  const replaced = (index: number, ...by: string[]) => [
    ...statements.slice(0, index),
    ...by,
    ...statements.slice(index + 1),
  ];
  const inserted = [...statements.slice(0, far), drawStatement(random), ...statements.slice(far)];
  const isBefore = far < at;
  const restyle = (): Style => ({
    quote: random.of(["'", '"'] as const),
    semicolon: random.of([';', '']),
    indent: random.of(['  ', '    ', '\t', '']),
    newline: random.of(['\n', '\r\n']),
    parenthesis: random.below(2) === 0,
    braces: random.below(2) === 0,
    trailingComma: random.below(2) === 0,
    mark: random.of(['', '\uFEFF']),
    between: Array.from({ length: random.below(4) }, () => random.of(comments)),
  });
  const edits: readonly (() => Sketch)[] = [
    () => ({ ...sketch, style: restyle() }),
    () => ({ ...sketch, style: { ...style, between: [random.of(comments), random.of(comments)] } }),
    () => ({ ...sketch, imports: [...imports, `import ${word(random)} from «${word(random)}»§`] }),
    () => ({ ...sketch, before: [...before, drawFunction(random)], style: restyle() }),
    () => ({ ...sketch, before: after, after: before }),
    () => ({ ...sketch, after: [drawFunction(random), ...after] }),
    () => ({ ...sketch, before: before.slice(1), style: restyle() }),
    () => ({ ...sketch, statements: inserted, at: isBefore ? at + 1 : at }),
    () =>
      isFar(sketch, far)
        ? { ...sketch, statements: replaced(far, drawStatement(random)) }
        : { ...sketch, style: restyle() },
    () => ({ ...sketch, path: sketch.path.replace(/\w+\.ts$/, `${word(random)}.ts`) }),
  ];
  return random.of(edits)();
}

const isFar = ({ statements, at }: Sketch, index: number): boolean =>
  index < statements.length && Math.abs(index - at) > 3;

/** Replaces the flagged statement with a different one that has the same fault. */
function editInside(random: Random, sketch: Sketch): Sketch {
  const { statements, at } = sketch;
  const flagged = statements[at] ?? '';
  const edits: readonly (() => string)[] = [
    () => faultOf(sketch).draw(random),
    // Changes one word in the statement.
    () => {
      const found = [...flagged.matchAll(/[a-z]+\d+/gi)];
      const chosen = random.of(found);
      return `${flagged.slice(0, chosen.index)}${chosen[0]}${random.of(['x', 'Y', '7', '_q'])}${flagged.slice(chosen.index + chosen[0].length)}`;
    },
  ];
  let edited = flagged;
  while (edited === flagged) edited = random.of(edits)();
  return { ...sketch, statements: [...statements.slice(0, at), edited, ...statements.slice(at + 1)] };
}

/** Replaces one of the three statements before or after the flagged statement. */
function editNear(random: Random, sketch: Sketch): Sketch {
  const { statements, at } = sketch;
  const near = at + random.of([-3, -2, -1, 1, 2, 3]);
  let edited = statements[near] ?? '';
  while (edited === statements[near]) edited = drawStatement(random);
  return { ...sketch, statements: [...statements.slice(0, near), edited, ...statements.slice(near + 1)] };
}
