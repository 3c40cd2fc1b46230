// Compares the two ways of evaluating rules on random cases: in the process, and as SQL in a real PostgreSQL.
import pg from 'pg';
import type { Principal } from '../../src/core/auth/principal.ts';
import { newStepBudget } from '../../src/features/entities/rules/budget.ts';
import { newRuleChecks } from '../../src/features/entities/rules/decision/checks.ts';
import { decideCondition, decideRule } from '../../src/features/entities/rules/decision/decide.ts';
import { evaluate } from '../../src/features/entities/rules/decision/evaluate.ts';
import { parseFieldRules } from '../../src/features/entities/rules/field-rules.ts';
import { type Parsed, parseRule } from '../../src/features/entities/rules/grammar.ts';
import { compileQuery, matchesQuery, parseQuery } from '../../src/features/entities/rules/query/query.ts';
import type { DataRecord, Rule, Verdict } from '../../src/features/entities/rules/rule.ts';
import { compileDecision } from '../../src/features/entities/rules/sql/sql.ts';
import {
  createRandom,
  pools,
  properties,
  type Random,
  randomPrincipal,
  randomPropertiesWithRules,
  randomQuery,
  randomRecord,
  randomRule,
} from './rule-cases.ts';

/** One statement evaluates many cases and binds all of their values. */
function newParameters() {
  const values: unknown[] = [];
  return { values, bind: (value: unknown): string => `$${values.push(value)}` };
}

type SqlValues = ReturnType<typeof newParameters>;

/** A random rule or query with a random principal, to be evaluated on a range of records. */
interface RandomCase {
  readonly description: object;
  evaluate(record: DataRecord): Verdict;
  /** The correct verdict, if it is known. Detects faults that both evaluations share. */
  readonly expected?: Verdict | undefined;
  /** Returns SQL that is true where the verdict is true, and SQL that is true where the verdict is false. */
  compile(sql: SqlValues): readonly [met: string, refused: string];
}

export interface Agreement {
  readonly cases: number;
  /** The number of cases with a known correct verdict. */
  readonly expected: number;
  readonly verdicts: { readonly true: number; readonly false: number; readonly unknown: number };
  readonly disagreements: readonly string[];
}

const recordCount = 2_000;
const recordsPerCase = 10;
const casesPerStatement = 25;

// A case's records, rule and principal use values from the same pool, so they often match.
const choosePool = (n: number) => pools[Math.floor(n / recordsPerCase) % pools.length] ?? [];

export interface AgreementDatabase {
  readonly client: pg.Client;
  readonly records: readonly DataRecord[];
  close(): Promise<void>;
}

/**
 * Opens a database with random records. It has an English collation, and its session has an unusual time zone and date
 * style, so SQL that depends on any of these would disagree.
 */
export async function openAgreementDatabase(serverUrl: string, seed: number): Promise<AgreementDatabase> {
  const name = `plinth_run_${process.pid}_rules`;
  const admin = new pg.Client(`${serverUrl}/postgres`);
  await admin.connect();
  await admin.query(`create database ${name} template template0 encoding utf8 locale_provider icu icu_locale 'en-US'`);
  const client = new pg.Client(`${serverUrl}/${name}`);
  await client.connect();
  const records = await insertRecords(client, seed);
  return {
    client,
    records,
    async close() {
      await client.end();
      await admin.query(`drop database ${name}`);
      await admin.end();
    },
  };
}

async function insertRecords(client: pg.Client, seed: number): Promise<DataRecord[]> {
  const random = createRandom(seed);
  const records = Array.from({ length: recordCount }, (_, n) => {
    random.pool = choosePool(n);
    return randomRecord(random);
  });
  await client.query(`set timezone = 'America/St_Johns'; set datestyle = 'SQL, DMY';
    create table records (n int primary key, id uuid not null, created_by text not null, created_by_id text not null,
      created_date timestamptz(3) not null, updated_date timestamptz(3) not null, is_sample boolean not null,
      data jsonb not null)`);
  await client.query(
    `insert into records select ordinality - 1, (v->>'id')::uuid, v->>'created_by', v->>'created_by_id',
       (v->>'created_date')::timestamptz, (v->>'updated_date')::timestamptz, (v->>'is_sample')::boolean, v->'data'
     from jsonb_array_elements($1::jsonb) with ordinality t(v, ordinality)`,
    [JSON.stringify(records)],
  );
  await client.query('analyze records');
  return records;
}

export const compareRules = (database: AgreementDatabase, seed: number, cases: number) =>
  compare(database, seed, cases, newRuleCase);

export const compareQueries = (database: AgreementDatabase, seed: number, cases: number) =>
  compare(database, seed, cases, newQueryCase);

async function compare(
  database: AgreementDatabase,
  seed: number,
  cases: number,
  newCase: (random: Random) => RandomCase,
): Promise<Agreement> {
  const random = createRandom(seed);
  const verdicts = { true: 0, false: 0, unknown: 0 };
  const disagreements: string[] = [];
  let done = 0;
  let expectedCases = 0;
  while (done < cases) {
    const batch = Array.from({ length: casesPerStatement }, () => {
      const from = random.upTo(recordCount / recordsPerCase - 1) * recordsPerCase;
      random.pool = choosePool(from);
      return { randomCase: newCase(random), from };
    });
    const results = await evaluateInDatabase(database, batch);
    for (const [at, { randomCase, from }] of batch.entries()) {
      for (let n = from; n < from + recordsPerCase; n += 1) {
        const record = database.records[n] as DataRecord;
        const inProcess = randomCase.evaluate(record);
        const inSql = results.get(`${at} ${n}`);
        verdicts[inProcess === null ? 'unknown' : inProcess ? 'true' : 'false'] += 1;
        done += 1;
        if (randomCase.expected !== undefined) expectedCases += 1;
        const { expected = inSql } = randomCase;
        if (inProcess === inSql && inProcess === expected) continue;
        disagreements.push(JSON.stringify({ seed, inProcess, inSql, expected, ...randomCase.description, record }));
      }
    }
  }
  return { cases: done, expected: expectedCases, verdicts, disagreements };
}

async function evaluateInDatabase(
  { client }: AgreementDatabase,
  batch: readonly { randomCase: RandomCase; from: number }[],
) {
  const sql = newParameters();
  const selects = batch.map(({ randomCase, from }, at) => {
    const [met, refused] = randomCase.compile(sql);
    return `(select ${at} as at, r.n, (${met}) is true as met, (${refused}) is true as refused
      from records r where r.n >= ${from} and r.n < ${from + recordsPerCase})`;
  });
  const { rows } = await client.query(selects.join(' union all '), sql.values);
  // A result that is both met and rejected becomes undefined, which agrees with no verdict.
  return new Map(
    rows.map(({ at, n, met, refused }) => [`${at} ${n}`, met && refused ? undefined : met || (refused ? false : null)]),
  );
}

function newRuleCase(random: Random): RandomCase {
  const [json, { rule: parsed }] = drawValid(
    () => randomRule(random),
    (json) => parseRule(json, [], properties),
  );
  const principal = randomPrincipal(random);
  return {
    description: { rule: json, principal },
    evaluate: (record) => evaluate(parsed, principal, record, newStepBudget()),
    expected: expectedWithoutCondition(json, principal),
    compile: (sql) => [compileDecision(decideRule(parsed, principal), sql), compileRefusal(parsed, principal, sql)],
  };
}

/**
 * Returns the verdict of a rule that is not a condition: true, false, or a missing rule, which allows only the app's
 * managers.
 */
function expectedWithoutCondition(json: unknown, principal: Principal): boolean | undefined {
  if (typeof json === 'boolean') return json;
  return json === null || json === '' || Object.keys(json as object).length === 0 ? principal.isManager : undefined;
}

// A rule's SQL does not distinguish unknown from false. This SQL is true only where the verdict is false.
function compileRefusal(rule: Rule, principal: Principal, sql: SqlValues): string {
  if (typeof rule === 'object' && principal.kind === 'signed_in')
    return compileDecision(decideCondition(rule, principal, false), sql);
  return `(${compileDecision(decideRule(rule, principal), sql)}) is not true`;
}

function newQueryCase(random: Random): RandomCase {
  const [json, { query: parsed }] = drawValid(
    () => randomQuery(random),
    (json) => parseQuery(json, [], properties),
  );
  const [propertiesWithRules, { fieldRules }] = drawValid(
    () => randomPropertiesWithRules(random),
    (propertiesWithRules) => parseFieldRules(propertiesWithRules, []),
  );
  const principal = randomPrincipal(random);
  const newContext = () => ({ fieldRules, checks: newRuleChecks('Task', principal) });
  return {
    description: { query: json, principal, fields: propertiesWithRules },
    evaluate: (record) => matchesQuery(parsed, newContext(), record),
    compile(sql) {
      const met = compileQuery(parsed, newContext(), sql);
      return [met, `(${met}) is not true`];
    },
  };
}

/** Draws again if one of the grammar's limits is exceeded. Any other fault is a bug in the generator. */
function drawValid<J, T extends object>(draw: () => J, parse: (json: J) => Parsed<T>): [J, T] {
  for (;;) {
    const json = draw();
    const parsed = parse(json);
    if (!('faults' in parsed)) return [json, parsed];
    const odd = parsed.faults.filter(({ msg }) => !msg.startsWith('at most'));
    if (odd.length > 0) throw new Error(`not in the grammar: ${JSON.stringify({ json, odd })}`);
  }
}
