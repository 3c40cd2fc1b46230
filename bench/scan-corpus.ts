// Measures how many planted faults security scans find, and how many of their findings are correct, on a corpus of
// small apps. The `held-out` half was written by someone who had not seen the rules, and the rules were written without
// access to it.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench } from '../harness/bench.ts';
import { createBenchApp, createBenchUser, createBenchWorkspace } from '../harness/fixtures.ts';
import { createDatabase } from '../harness/services.ts';
import { rounded } from '../harness/statistics.ts';
import { type AdvisoriesSandbox, startAdvisories } from '../sandbox/src/advisories/server.ts';
import type { AppReach } from '../server/src/core/auth/proofs.ts';
import { findAccessAsService } from '../server/src/core/auth/proofs-without-guard.ts';
import { findOpenRules } from '../server/src/features/entities/schemas/open-rules.ts';
import { collectCode } from '../server/src/features/security/code/code-files.ts';
import { createFindingList } from '../server/src/features/security/code/finding-list.ts';
import type { CodeItem, FunctionItem } from '../server/src/features/security/code/item.ts';
import { createCodeScanner } from '../server/src/features/security/code/process.ts';
import { createAppReader } from '../server/src/features/security/code/scan-file.ts';
import { scanDependencies } from '../server/src/features/security/dependencies/dependencies.ts';
import { choosePackageFiles } from '../server/src/features/security/dependencies/files.ts';
import { scanHeaders } from '../server/src/features/security/headers/headers.ts';
import { createRowRulesScan, type FindOpenRules } from '../server/src/features/security/row-rules/row-rules.ts';
import { scanSecrets } from '../server/src/features/security/secrets/secrets.ts';
import { openAdvisories } from '../server/src/gateways/advisories/index.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import { parseAllowList } from '../server/src/kit/outbound/address.ts';
import { type Outbound, openOutbound } from '../server/src/kit/outbound/outbound.ts';
import type { Db, Tables } from '../server/src/tables.ts';
import { type CorpusCase, corpusGroups, halves, readCases } from './scan-corpus/cases.ts';
import { scanHostileApp } from './scan-corpus/hostile.ts';
import { countKinds, judge, type Reported, type Score, score, type Verdict } from './scan-corpus/judge.ts';

const bar = 0.95;
const leastFaults = 120;
const leastHarmless = 120;

export const scanCorpus: Bench = async ({ quick, progress }) => {
  const startedAt = performance.now();
  const scanners = await openScanners();
  try {
    const scores: Record<string, Record<string, Score>> = {};
    const kinds: Record<string, Record<string, number>> = {};
    for (const half of halves) {
      const verdicts = await judgeAll(readCases(half), scanners);
      // Rule authors must not learn any more than this about the held-out half.
      if (half === 'open') for (const fault of verdicts.flatMap(({ faults }) => faults)) progress(`open: ${fault}`);
      kinds[`${half}_faults`] = countKinds(verdicts);
      const byGroup = corpusGroups.map((group) => [group, score(verdicts.filter((each) => each.group === group))]);
      scores[half] = { all: score(verdicts), ...Object.fromEntries(byGroup) };
      progress(`${half}: ${JSON.stringify(scores[half])}`);
    }
    const largeAppSeconds = quick ? undefined : await measureLargeApp();
    const hostileApp = quick ? undefined : await scanHostileApp();
    const totals = halves.flatMap((half) => scores[half]?.all ?? []);
    const sum = (field: 'faults' | 'harmless') => totals.reduce((total, each) => total + each[field], 0);
    return {
      figures: {
        ...scores,
        ...kinds,
        large_app_seconds: largeAppSeconds,
        hostile_app: hostileApp,
        seconds: rounded((performance.now() - startedAt) / 1000, 1),
      },
      judged: [
        { bar: `at least ${leastFaults} planted faults`, met: sum('faults') >= leastFaults },
        { bar: `at least ${leastHarmless} harmless cases`, met: sum('harmless') >= leastHarmless },
        ...halves.flatMap((half) => {
          const { recall = 0, precision = 0 } = scores[half]?.all ?? {};
          return [
            { bar: `${half}: recall at least ${bar}`, met: recall >= bar },
            { bar: `${half}: precision at least ${bar}`, met: precision >= bar },
          ];
        }),
        ...(largeAppSeconds === undefined
          ? []
          : [{ bar: 'an app of 2,000 files within 60 s', met: largeAppSeconds <= 60 }]),
        ...(hostileApp === undefined
          ? []
          : [
              {
                bar: 'the scan of a hostile app of 5,000 files ends',
                met: /^(up_to_date|scan_failed)$/.test(hostileApp.status),
              },
            ]),
      ],
      skipped: quick ? ['an app of 2,000 files', 'a hostile app of 5,000 files'] : [],
    };
  } finally {
    await scanners.close();
  }
};

// ---- the groups, each scanned by the product's code

interface OpenScanners {
  readonly db: Db;
  readonly access: AppReach;
  readonly advisories: AdvisoriesSandbox;
  readonly outbound: Outbound;
  close(): Promise<void>;
}

async function openScanners(): Promise<OpenScanners> {
  const database = await createDatabase('scan_corpus');
  const own = openDatabase<Tables>({ url: database.url, poolSize: 2 });
  const pepper = { id: 'bench', key: randomBytes(32) };
  const keys = { TOKEN_PEPPERS: [pepper], CELL_CODE: '00' } as unknown as Parameters<typeof createBenchWorkspace>[1];
  const workspace = await createBenchWorkspace(own.db, keys, await createBenchUser(own.db));
  const app = await createBenchApp(own.db, workspace, 'user_app');
  const access = await findAccessAsService(own.db, { workspace_id: workspace.workspace_id, app_id: app.id });
  if (access === undefined) throw new Error('the app of the measurement is gone');
  const advisories = await startAdvisories({ records: [] });
  const outbound = openOutbound({ allow: parseAllowList('http://127.0.0.0/8') });
  return {
    db: own.db,
    access,
    advisories,
    outbound,
    async close() {
      await outbound.close();
      await advisories.close();
      await own.close();
      await database.drop();
    },
  };
}

async function judgeAll(cases: readonly CorpusCase[], scanners: OpenScanners): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const each of cases) verdicts.push(judge(each, await scanOne(each, scanners)));
  return verdicts;
}

async function scanOne(each: CorpusCase, scanners: OpenScanners): Promise<Reported[]> {
  if (each.group === 'rls') return scanRules(each, scanners);
  if (each.group === 'secrets') return scanForSecrets(each);
  if (each.group === 'functions' || each.group === 'static') return scanCode(each);
  return each.group === 'dependencies' ? scanPackages(each, scanners) : scanServed(each, scanners);
}

/** Also records who can use each open operation, because a finding states this only for the worst one. */
async function scanRules({ schemas = [] }: CorpusCase, { db, access }: OpenScanners): Promise<Reported[]> {
  const principals = new Map<string, 'anonymous' | 'any_user'>();
  const observe: FindOpenRules = async (...input) => {
    const found = await findOpenRules(...input);
    for (const { entity_name, operations } of found.entities)
      for (const { operation, principal } of operations) principals.set(`${entity_name} ${operation}`, principal);
    return found;
  };
  const documents = schemas.map((document) => ({ name: String(document.name), document }));
  const { findings } = await createRowRulesScan(observe)(db, access, documents, new Date());
  return findings.flatMap(({ item: { entity_name: entity, open_operations } }) =>
    open_operations.map((operation) => {
      const principal = principals.get(`${entity} ${operation}`);
      return { entity, operation, ...(principal && { principal }) };
    }),
  );
}

async function scanPackages(
  { files = {}, advisories: records = [] }: CorpusCase,
  { advisories: sandbox }: OpenScanners,
): Promise<Reported[]> {
  sandbox.clear();
  sandbox.add(...records);
  const advisories = openAdvisories({ url: sandbox.url });
  try {
    const listed = Object.entries(files).map(([path, content]) => ({ path, content }));
    const sizes = listed.map((file) => ({ ...file, size: file.content.length }));
    const { found } = await scanDependencies({ advisories }, choosePackageFiles(sizes).files);
    return found.findings.map(({ item }) => ({
      file: item.file_path,
      package: item.package_name,
      advisory: item.advisory_id,
    }));
  } finally {
    await advisories.close();
  }
}

async function scanServed({ headers = {} }: CorpusCase, { outbound, access }: OpenScanners): Promise<Reported[]> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', ...headers }).end('<p>Hello</p>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { items, coverage } = await scanHeaders({ outbound, owner: access.workspace_id }, url);
    if (coverage.value !== 'ran') throw new Error(`the headers were not read: ${JSON.stringify(coverage)}`);
    return items.map(({ flag }) => ({ flag }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// ---- code

// Each case is a separate app with its own reader, as in a scan's process. All cases are read in this process, because
// starting a process per case would take most of the time and would not affect the rules.

async function scanForSecrets({ files = {} }: CorpusCase): Promise<Reported[]> {
  const key = randomBytes(32);
  const scans = Object.entries(files).map(([path, content]) => scanSecrets({ path, content }, key));
  return (await Promise.all(scans))
    .flatMap(({ findings }) => findings)
    .map(({ item }) => ({ file: item.file_path, line: item.line, kind: item.secret_type }));
}

function scanCode({ group, files = {} }: CorpusCase): Reported[] {
  const collected = collectCode(1024 * 1024);
  for (const [path, content] of Object.entries(files)) collected.add({ path, content });
  const { texts } = collected.finish();
  const reader = createAppReader();
  for (const [path, text] of texts) reader.program.add(path, text);
  const functions = createFindingList<FunctionItem>(1_000);
  const staticCode = createFindingList<CodeItem>(1_000);
  for (const path of texts.keys()) {
    const found = reader.read(path);
    for (const each of found.functions) functions.add(each);
    for (const each of found.staticCode) staticCode.add(each);
  }
  return group === 'functions'
    ? functions.list().map(({ item }) => ({ file: item.file_path, line: item.line, kind: item.issue }))
    : staticCode.list().map(({ item }) => ({ file: item.file_path, line: item.line_start, kind: item.category }));
}

/** Scans one app that contains all cases' files, repeated until there are 2,000. */
async function measureLargeApp(): Promise<number> {
  const files = halves.flatMap((half) => readCases(half)).flatMap(({ files = {} }) => Object.entries(files));
  async function* read() {
    for (let index = 0; index < 2_000; index += 1) {
      const [path, content] = files[index % files.length] ?? ['src/a.ts', ''];
      yield { path: path.replace(/([^/]*)$/, `${index}-$1`), content };
    }
  }
  const startedAt = performance.now();
  const options = { staticCode: true, secretKey: randomBytes(32), totalMs: 600_000 };
  const scanner = createCodeScanner();
  await scanner.scan(read(), options, AbortSignal.timeout(660_000));
  const seconds = (performance.now() - startedAt) / 1000;
  await scanner.close();
  return rounded(seconds, 1);
}
