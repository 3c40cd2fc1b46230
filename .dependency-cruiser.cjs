// Owns who may import whom in server/src (ARCHITECTURE.md, "Who may touch whom"). Run by `npm run boundaries`.
// Each rule is shown to bite by a planted violation in server/test/boundaries.test.ts; a rule without one fails there.
const { join } = require('node:path');

const tests = '\\.test\\.ts$';
const rooms = '^server/src/(kit|access|gateways|features)/';
const store = '^server/src/features/.+/store\\.ts$';
const database = ['^server/src/kit/db/', '(^|/)node_modules/(kysely|pg)/'];

// What Node still loads after it has stripped the types. dependency-cruiser's own `type-only` will not do: it also says
// so of `import Thing, { type Other } from …` and of `import { type Other } from …`, which both load at run time.
const atRunTime = { preCompilationOnly: false };

const pure = {
  path: ['^server/src/features/[^/]+/rules(/|\\.ts$)', '^server/src/access/(roles|plans|limits|principal)\\.ts$'],
  pathNot: tests,
};

const rules = [
  {
    name: 'kit-alone',
    comment: 'kit/ is tools that know nothing of the product, so it imports nothing else in src.',
    from: { path: '^server/src/kit/' },
    to: { path: '^server/src/', pathNot: '^server/src/kit/' },
  },
  {
    name: 'access-over-kit',
    comment: 'Every feature stands on access/, so access/ stands on nothing but kit/ and the tables.',
    from: { path: '^server/src/access/' },
    to: { path: '^server/src/', pathNot: '^server/src/((access|kit)/|tables\\.ts$)' },
  },
  {
    name: 'gateways-over-kit',
    comment: 'A gateway speaks its provider’s protocol and knows neither the product nor who is asking.',
    from: { path: '^server/src/gateways/' },
    to: { path: '^server/src/', pathNot: '^server/src/(gateways|kit)/' },
  },
  {
    name: 'gateways-without-database',
    comment: 'Intent and outcome are recorded by the feature around the call, so no transaction spans the network.',
    from: { path: '^server/src/gateways/' },
    to: { path: database },
  },
  {
    name: 'features-over-access',
    comment: 'A feature gets everything else through its door, so its parameters are the list of what it touches.',
    from: { path: '^server/src/features/' },
    to: { path: '^server/src/', pathNot: [rooms, '^server/src/(events|tables)\\.ts$'] },
  },
  {
    name: 'features-apart',
    comment: 'Features meet as events, or as functions wired in app.ts, so that each can change alone.',
    from: { path: '^server/src/features/([^/]+)' },
    to: { path: '^server/src/features/', pathNot: '^server/src/features/$1(/|$)' },
  },
  {
    name: 'gateways-by-type',
    comment: 'The gateway itself is handed in through the door; a feature that loads one has chosen its provider.',
    from: { path: '^server/src/features/' },
    to: { path: '^server/src/gateways/', ...atRunTime },
  },
  {
    name: 'features-met-in-app',
    comment: 'One place wires the features; only what is made from all of them (API description, demo) may join it.',
    from: { path: '^server/src/', pathNot: [rooms, '^server/src/(app|openapi|demo)\\.ts$'] },
    to: { path: '^server/src/features/' },
  },
  {
    name: 'features-by-the-door',
    comment: 'What a feature does not show in its index.ts is free to change.',
    from: { path: '^server/src/(app|openapi|demo)\\.ts$' },
    to: { path: '^server/src/features/', pathNot: '^server/src/features/[^/]+/index\\.ts$' },
  },
  {
    name: 'queries-in-stores',
    comment: 'Queries have one place per feature, where the access proof is asked for; elsewhere kysely is only types.',
    from: {
      path: '^server/src/',
      pathNot: ['^server/src/(access|kit)/', store, tests],
    },
    to: { path: '(^|/)node_modules/kysely/', ...atRunTime },
  },
  {
    name: 'pure-rules',
    comment: 'A rule decides by its arguments alone, so a table can test it; it knows the outside not even by type.',
    from: pure,
    to: { path: [...database, store, '^server/src/(kit/http|gateways)/', '(^|/)node_modules/fastify/'] },
  },
  {
    name: 'pure-rules-without-node',
    comment: 'The clock, the disk and chance are not arguments either.',
    from: pure,
    to: { dependencyTypes: ['core'] },
  },
  {
    name: 'no-cycles',
    comment: 'Files in a cycle, even of types, can only be understood together.',
    from: { path: '^server/src/' },
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'A file that nothing imports and that imports nothing is left over.',
    from: { orphan: true, path: '^server/src/', pathNot: '^server/src/main\\.ts$' },
    to: {},
  },
  {
    name: 'no-dev-dependencies',
    comment: 'The image holds only what server/package.json lists under dependencies.',
    from: { path: '^server/src/', pathNot: tests },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
  },
  {
    name: 'nothing-outside-src',
    comment: 'The product runs without its tests, generators and benches.',
    from: { path: '^server/src/', pathNot: tests },
    to: { path: ['^(?!server/src/)', tests], pathNot: '(^|/)node_modules/', dependencyTypesNot: ['core', 'unknown'] },
  },
  {
    name: 'no-unresolved',
    comment: 'Rules go by where an import leads: one that leads nowhere would pass them all.',
    from: { path: '^server/src/' },
    to: { couldNotResolve: true },
  },
];

module.exports = {
  forbidden: rules.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: '(^|/)node_modules/' },
    // 'specify' compares each file before and after the types are gone; under our tsconfig (verbatimModuleSyntax)
    // what is left is what Node loads.
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: join(__dirname, 'tsconfig.json') },
    // Packages are found as Node finds them; without this, those that only have `exports` stay unresolved.
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'import', 'default'] },
    // Only the analyses some rule asks for.
    skipAnalysisNotInRules: true,
  },
};
