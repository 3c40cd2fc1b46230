// Decides who may import whom in server/src and in the programs around it (ARCHITECTURE.md, "Dependencies between modules"). Run by
// `npm run boundaries`.
// server/test/boundaries.test.ts proves each rule by a planted violation, and fails for a rule without one.
const { join } = require('node:path');

const tests = '\\.test\\.ts$';
const programs = '^(server/src|sandbox|client/(sdk|cli)/src|console/src|harness|bench|drills|tools)/';
const modules = '^server/src/(kit|core|gateways|features)/';
const stores = ['^server/src/features/.+/store\\.ts$', '^server/src/features/.+/store/'];
const wiring = ['^server/src/(app\\.ts|app/|openapi/)', '^server/src/commands/demo/'];
const database = ['^server/src/kit/db/', '(^|/)node_modules/(kysely|pg)/'];

// What Node still loads after it has stripped the types. dependency-cruiser's own `type-only` will not do: it also says
// so of `import Thing, { type Other } from …` and of `import { type Other } from …`, which both load at run time.
const atRunTime = { preCompilationOnly: false };

const pure = {
  path: ['^server/src/features/[^/]+/rules(/|\\.ts$)', '^server/src/core/auth/(roles|plans|limits|principal)\\.ts$'],
  pathNot: tests,
};

// The folders of a feature, lowest first: each may import those before it. Folders that import no other folder of their feature, and
// that none imports, need no level. What is directly in a feature's folder may import all of them, and be imported by all.
const levels = {
  ads: [
    'rules',
    'store',
    'budgets',
    'locations',
    'accounts',
    'ceilings',
    'campaigns',
    'creative',
    'readiness',
    'tracking',
    'search-terms',
    'launch',
    'changes',
  ],
  analytics: ['query', 'reads'],
  builder: ['checks', 'tools'],
  connectors: ['store', 'tokens'],
  entities: ['rules', 'schemas', 'records', 'explain'],
  members: ['changes', 'invitations'],
  publishing: ['serve', 'platform', 'previews'],
  security: ['secrets', 'code'],
  workflows: ['definition', 'store', 'runs', 'triggers', 'reads', 'analysis'],
};
// Without an order yet: `session` and `turn`, `turn` and `work`, and `store` and `work` import each other.
const withoutLevels = ['coding-sessions'];

const foldersInLevels = {
  name: 'folders-in-levels',
  comment: 'Two folders of a feature that import each other can only be understood together.',
};
const inFolders = (feature, folders) => `^server/src/features/${feature}/(${folders.join('|')})/`;

const levelRules = [
  ...Object.entries(levels).flatMap(([feature, folders]) =>
    folders.map((folder, level) => ({
      ...foldersInLevels,
      from: { path: inFolders(feature, [folder]), pathNot: tests },
      to: { path: inFolders(feature, ['[^/]+']), pathNot: inFolders(feature, folders.slice(0, level + 1)) },
    })),
  ),
  {
    ...foldersInLevels,
    from: {
      path: '^server/src/features/([^/]+)/([^/]+)/',
      pathNot: [
        ...Object.entries(levels).map(([feature, folders]) => inFolders(feature, folders)),
        ...withoutLevels.map((feature) => inFolders(feature, ['[^/]+'])),
        tests,
      ],
    },
    to: { path: '^server/src/features/$1/[^/]+/', pathNot: '^server/src/features/$1/$2/' },
  },
];

const rules = [
  {
    name: 'kit-alone',
    comment: 'kit/ holds generic tools that know nothing of the product, so it imports nothing else in src.',
    from: { path: '^server/src/kit/' },
    to: { path: '^server/src/', pathNot: '^server/src/kit/' },
  },
  {
    name: 'queues-apart',
    comment: 'The queues can be taken out with the database, the clock and the workers, so they import nothing else.',
    from: { path: '^server/src/kit/background/queues/', pathNot: tests },
    to: {
      path: '^server/src/',
      pathNot: '^server/src/kit/(clock\\.ts$|db/|background/(queues/|workers/|error-text\\.ts$|gather\\.ts$))',
    },
  },
  {
    name: 'core-uses-kit',
    comment: 'Every feature stands on core/, so core/ imports nothing but kit/ and the tables.',
    from: { path: '^server/src/core/' },
    to: { path: '^server/src/', pathNot: '^server/src/((core|kit)/|tables\\.ts$)' },
  },
  {
    name: 'auth-below-core',
    comment: 'Who the caller is and what they may reach is decided before anything else in core/ is asked.',
    from: { path: '^server/src/core/auth/', pathNot: tests },
    to: { path: '^server/src/core/', pathNot: '^server/src/core/auth/' },
  },
  {
    name: 'proofs-issued-by-auth',
    comment: 'A proof means that core/auth has decided. If others could issue one, it would mean nothing.',
    from: { path: '^server/src/', pathNot: '^server/src/core/auth/' },
    to: { path: '^server/src/core/auth/issue-proof\\.ts$' },
  },
  {
    name: 'gateways-use-kit',
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
    name: 'features-use-core',
    comment: 'A feature receives everything else as arguments of its index.ts, which so lists what the feature uses.',
    from: { path: '^server/src/features/' },
    to: { path: '^server/src/', pathNot: [modules, '^server/src/(events|tables)\\.ts$'] },
  },
  {
    name: 'features-apart',
    comment: 'Features communicate by events, or by functions wired in app/features.ts, so that each can change alone.',
    from: { path: '^server/src/features/([^/]+)' },
    to: { path: '^server/src/features/', pathNot: '^server/src/features/$1(/|$)' },
  },
  ...levelRules,
  {
    name: 'gateways-by-type',
    comment: 'app/features.ts passes the gateway in; a feature that loads one itself has chosen its provider.',
    from: { path: '^server/src/features/' },
    to: { path: '^server/src/gateways/', ...atRunTime },
  },
  {
    name: 'features-wired-in-app',
    comment: 'One place wires the features; only what is made from all of them (API description, demo) may join it.',
    from: { path: '^server/src/', pathNot: [modules, ...wiring] },
    to: { path: '^server/src/features/' },
  },
  {
    name: 'features-by-index',
    comment: 'What a feature does not export from its index.ts is free to change.',
    from: { path: wiring },
    to: { path: '^server/src/features/', pathNot: '^server/src/features/[^/]+/index\\.ts$' },
  },
  {
    name: 'queries-in-stores',
    comment: 'Queries have one place per feature, which requires the access proof; elsewhere kysely is only types.',
    from: {
      path: '^server/src/',
      pathNot: ['^server/src/(core|kit)/', ...stores, tests],
    },
    to: { path: '(^|/)node_modules/kysely/', ...atRunTime },
  },
  {
    name: 'pure-rules',
    comment: 'A rule decides by its arguments alone, so a table of cases can test it.',
    from: pure,
    to: { path: [...database, ...stores, '^server/src/(kit/http|gateways)/', '(^|/)node_modules/fastify/'] },
  },
  {
    name: 'pure-rules-without-node',
    comment: 'The clock, the disk and random numbers are not arguments.',
    from: pure,
    to: { dependencyTypes: ['core'] },
  },
  {
    name: 'no-cycles',
    comment: 'Files in an import cycle, even of types only, can only be understood together.',
    from: { path: programs },
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'A file that nothing imports and that imports nothing is dead code.',
    from: { orphan: true, path: '^server/src/', pathNot: '^server/src/main\\.ts$' },
    to: {},
  },
  {
    name: 'no-dev-dependencies',
    comment: 'A production install has only what server/package.json lists under dependencies.',
    from: { path: '^server/src/', pathNot: tests },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
  },
  {
    name: 'nothing-outside-src',
    comment: 'The product runs without its tests, generators and measurements.',
    from: { path: '^server/src/', pathNot: tests },
    to: { path: ['^(?!server/src/)', tests], pathNot: '(^|/)node_modules/', dependencyTypesNot: ['core', 'unknown'] },
  },
  {
    name: 'no-unresolved',
    comment: 'Rules look at what an import resolves to: one that resolves to nothing would pass them all.',
    from: { path: programs },
    to: { couldNotResolve: true },
  },
  {
    name: 'sandbox-alone',
    comment:
      'The sandbox stands for other companies’ servers: what it shared with Plinth would hide a mistake in both.',
    from: { path: '^sandbox/', pathNot: tests },
    to: { path: '^(server|client|harness|bench|drills|tools)/' },
  },
  {
    name: 'client-alone',
    comment:
      'Programs install the client without the server, and it runs in browsers, so it imports only its own files.',
    from: { path: '^client/sdk/src/' },
    to: { path: '.', pathNot: '^client/sdk/src/' },
  },
  {
    name: 'command-line-on-client',
    comment:
      'What plinthctl can do, every program can: it uses the client as others do. Its packages are installed or packed with it.',
    from: { path: '^client/cli/src/' },
    to: {
      path: '.',
      pathNot: [
        '^client/cli/(src/|package\\.json$)',
        '^client/sdk/src/((index|audit|webhooks)\\.ts|generated/describe\\.json)$',
        '(^|/)node_modules/(commander|jq-wasm)/',
      ],
      dependencyTypesNot: ['core'],
    },
  },
  {
    name: 'console-uses-client',
    comment: 'The console calls the API as any program can: through the client, which one file imports.',
    from: { path: '^console/src/' },
    to: { path: '^(server|sandbox|harness|bench|drills|tools|client)/', pathNot: '^client/sdk/src/index\\.ts$' },
  },
  {
    name: 'console-client-once',
    comment: 'Requests, retries and what is read again afterwards are decided in one place.',
    from: { path: '^console/src/', pathNot: '^console/src/data/client\\.ts$' },
    to: { path: '^client/sdk/src/' },
  },
  {
    name: 'console-parts-in-ui',
    comment: 'Screens use the components in ui/, which alone know the libraries they are made of.',
    from: { path: '^console/src/', pathNot: '^console/src/(ui/|main\\.tsx$)' },
    to: { path: '(^|/)node_modules/(@base-ui|marked)/' },
  },
  {
    name: 'console-layers',
    comment: 'ui/ and data/ know no screen, and no screen knows the frame around it.',
    from: { path: '^console/src/(ui|data|features)/' },
    to: { path: '^console/src/(shell/|routes\\.tsx$|main\\.tsx$)' },
  },
  {
    name: 'console-features-below',
    comment: 'A component that knows a screen can be used by that screen only.',
    from: { path: '^console/src/(ui|data)/' },
    to: { path: '^console/src/features/' },
  },
  {
    name: 'console-features-apart',
    comment: 'The screens of one area can change without those of another; shell/ and routes.tsx bring them together.',
    from: { path: '^console/src/features/([^/]+)/' },
    to: { path: '^console/src/features/', pathNot: '^console/src/features/$1/' },
  },
  {
    name: 'harness-below',
    comment: 'Measurements and drills are built on harness/, which so knows none of them.',
    from: { path: '^harness/' },
    to: { path: '^(bench|drills|tools)/' },
  },
  {
    name: 'bench-and-drills-apart',
    comment: 'A measurement and a drill share what is in harness/, so that each can change alone.',
    from: { path: '^(bench|drills)/' },
    to: { path: '^(bench|drills|tools)/', pathNot: '^$1/' },
  },
];

module.exports = {
  forbidden: rules.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: '(^|/)node_modules/' },
    // Scripts of pages, which browsers load, and the files of apps and repositories.
    exclude: {
      path: '\\.browser\\.js$|/features/builder/starter/|^sandbox/src/(demo-repository/files|demo-shop/public)/|^sandbox/src/task-list/app\\.js$',
    },
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
