// Checks code base rules that imports do not show: only the configuration reads the environment, every file begins with
// a comment, and every migration names the module that owns it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

// How each of these files may access the environment. All other files may not.
const environment: Record<string, string[]> = {
  'config.ts': ['process.env'],
  'commands/env-file.ts': ['process.loadEnvFile'],
  'commands/health.ts': ['process.loadEnvFile', 'process.env'], // loading the configuration would take longer than asking
};

const server = fileURLToPath(new URL('..', import.meta.url));
const sources = readAll('src', '.ts');
const migrations = readAll('migrations', '.sql');

describe('every source file', () => {
  it.each(sources)('$path leaves the environment to config', ({ path, text }) => {
    const mentioned = text.match(/process\.(env|loadEnvFile)\b|node:process/g) ?? [];
    expect(mentioned.filter((mention) => !environment[path]?.includes(mention))).toEqual([]);
  });

  it.each(sources.filter(({ path }) => path !== 'tables.ts'))(
    '$path begins with what it contains or does',
    ({ text }) => {
      expect(text).toMatch(/^\/\/ \S/);
    },
  );
});

// The order of the parameters that most functions have. All other parameters are the function's input.
const order = ['db', 'deps', 'access', 'input', 'now', 'signal'] as const;
const services = ['storage', 'secrets', 'payments', 'guests', 'objectStorage', 'gitHost', 'pepper'];
const maxParameters = 5;

describe('the parameters of a function', () => {
  it.each([
    ['(db, deps, access, input, now)', '(db, access, deps, now)', 'access before deps'],
    ['(db, deps, access, now, signal)', '(db, deps, now, id)', 'now before input'],
    ['(db, id, { code, message }, now)', '(id, db)', 'input before db'],
    ['(db, deps, access, input, now, signal)', '(a, b, c, d, e, f)', 'more than 5'],
  ])('may be %s, but not %s', (good, bad, fault) => {
    expect(findParameterFaults(`export const f = ${good} => 1;`)).toEqual([]);
    expect(findParameterFaults(`function f${bad} {}`)).toEqual([`f: ${fault}`]);
  });

  it('keep their order everywhere, and an object is passed instead of a sixth', () => {
    const product = sources.filter(({ path }) => !path.endsWith('.test.ts'));
    const faults = product.flatMap(({ path, text }) => findParameterFaults(text).map((fault) => `${path} ${fault}`));
    expect(faults).toEqual([]);
  });
});

describe('statements of a transaction', () => {
  it.each([
    ['transaction(db, async (db) => Promise.all(ids.map((id) => save(db, id))))', 1],
    ['withPoolLock(db, pool, (db) => { const all = Promise.allSettled([read(db), count(db)]); return all; })', 1],
    ['transaction(db, (tx) => Promise.race([tx.selectFrom("apps"), late]))', 1],
    ['transaction(db, (db) => sendTogether(db, read.query(), count.query()))', 0],
    ['transaction(db, async (db) => Promise.all(ids.map((id) => removeFile(id))))', 0],
    ['function read(db: Db) { return Promise.all([readOne(db), readTwo(db)]); }', 0],
  ])('%s: %i faults', (text, faults) => {
    expect(findConcurrentStatements(text)).toHaveLength(faults);
  });

  // A connection runs one statement at a time, so it is not faster. sendTogether is.
  it('are never started at once by Promise.all, but sent together or awaited one by one', () => {
    const product = sources.filter(({ path }) => !path.endsWith('.test.ts') && path !== 'kit/db/database.ts');
    const faults = product.flatMap(({ path, text }) =>
      findConcurrentStatements(text).map((fault) => `${path} ${fault}`),
    );
    expect(faults).toEqual([]);
  });
});

// Migrations never change, because their checksums are stored. Migrations written before the modules got their current
// names say `-- room:`. This maps the old names to the current ones.
const formerOwners: Record<string, string> = {
  access: 'core',
  kit: 'kit/background',
};

describe('every migration', () => {
  it.each(migrations)('$path names the module that owns its tables', ({ text }) => {
    const [, key, name = 'none'] = /^-- (room|module): (\S+)\n/.exec(text) ?? [];
    const module = key === 'room' ? (formerOwners[name] ?? name) : name;
    const folders = [join(server, 'src', module), join(server, 'src/features', module)];
    expect(folders.some(existsSync), `there is no module '${module}'`).toBe(true);
  });
});

function readAll(folder: string, ending: string) {
  const paths = readdirSync(join(server, folder), { recursive: true, encoding: 'utf8' });
  const found = paths.filter((path) => path.endsWith(ending));
  if (found.length === 0) throw new Error(`no files in ${folder}`);
  return found.map((path) => ({ path, text: readFileSync(join(server, folder, path), 'utf8') }));
}

/** Checks only named functions. A callback's type determines its parameters. */
function findParameterFaults(text: string): string[] {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    const name = findFunctionName(node);
    if (name !== undefined)
      faults.push(...findFaults((node as ts.SignatureDeclaration).parameters).map((fault) => `${name}: ${fault}`));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return faults;
}

/** Finds Promise.all and its siblings with the handle that a callback such as that of `transaction` receives. */
function findConcurrentStatements(text: string): string[] {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const faults: string[] = [];
  const visit = (node: ts.Node, handles: readonly string[]): void => {
    const known = [...handles, ...findHandles(node)];
    if (ts.isCallExpression(node) && /^Promise\.(all|allSettled|any|race)$/.test(node.expression.getText()))
      if (node.arguments.some((each) => mentions(each, known))) faults.push(node.getText());
    ts.forEachChild(node, (child) => visit(child, known));
  };
  visit(file, []);
  return faults;
}

function findHandles(node: ts.Node): string[] {
  if (!ts.isArrowFunction(node) || !ts.isCallExpression(node.parent)) return [];
  const names = node.parameters.map(({ name }) => name.getText());
  return names.filter((name) => name === 'db' || name === 'tx');
}

const mentions = (node: ts.Node, names: readonly string[]): boolean =>
  (ts.isIdentifier(node) && names.includes(node.text)) ||
  (ts.forEachChild(node, (child) => mentions(child, names) || undefined) ?? false);

function findFunctionName(node: ts.Node): string | undefined {
  if (ts.isFunctionDeclaration(node)) return node.name?.text;
  if (!ts.isArrowFunction(node) || !ts.isVariableDeclaration(node.parent)) return undefined;
  const { name, type } = node.parent;
  return type === undefined && ts.isIdentifier(name) ? name.text : undefined;
}

function findFaults(parameters: readonly ts.ParameterDeclaration[]): string[] {
  const required = parameters.filter((each) => !each.questionToken && !each.initializer && !each.dotDotDotToken);
  const roles = required.map(findRole);
  const misplaced = roles.findIndex((role, n) => order.indexOf(role) > order.indexOf(roles[n + 1] ?? 'signal'));
  const count = parameters.filter(({ name }) => name.getText() !== 'signal').length;
  return [
    ...(misplaced === -1 || !roles.includes('db') ? [] : [`${roles[misplaced]} before ${roles[misplaced + 1]}`]),
    ...(count > maxParameters ? [`more than ${maxParameters}`] : []),
  ];
}

function findRole({ name, type }: ts.ParameterDeclaration): (typeof order)[number] {
  const [text, typeText = ''] = [name.getText(), type?.getText()];
  if (/^(Any)?Db\b/.test(typeText)) return 'db';
  if (services.includes(text) || /Deps\b/.test(typeText)) return 'deps';
  if (/Access\b/.test(typeText)) return 'access';
  return order.find((role) => role === text) ?? 'input';
}
