// Owns putting the two ways of deciding side by side: each case in the process, and as SQL on real PostgreSQL.
import pg from 'pg';
import type { Principal } from '../../src/core/auth/principal.ts';
import { decideCondition } from '../../src/features/entities/rules/decide.ts';
import { evaluate } from '../../src/features/entities/rules/evaluate.ts';
import { parseFieldRules } from '../../src/features/entities/rules/field-rules.ts';
import { type Parsed, parseRule } from '../../src/features/entities/rules/grammar.ts';
import { compileQuery, matchesQuery, parseQuery } from '../../src/features/entities/rules/query.ts';
import type { DataRecord, Rule, Verdict } from '../../src/features/entities/rules/rule.ts';
import { compileDecision, compileRule } from '../../src/features/entities/rules/sql.ts';
import { type Chance, caller, chance, fields, pools, query, record, rule, ruledFields } from './rule-cases.ts';

/** The statement of many questions: values are bound across all of them. */
function writer() {
  const values: unknown[] = [];
  return { values, bind: (value: unknown): string => `$${values.push(value)}` };
}

type Writer = ReturnType<typeof writer>;

/** One rule or query, to be asked of a run of records. */
interface Question {
  readonly told: unknown;
  inProcess(record: DataRecord): Verdict;
  /** SQL that is true where the verdict is true, and where it is false. */
  asSql(sql: Writer): readonly [met: string, refused: string];
}

export interface Agreement {
  readonly cases: number;
  readonly verdicts: { readonly true: number; readonly false: number; readonly unknown: number };
  readonly disagreements: readonly string[];
}

const kept = 2_000;
const recordsEach = 10;
const questionsAtOnce = 25;

// Neighbours draw from the same values, and so does who asks about them.
const poolOf = (n: number) => pools[Math.floor(n / recordsEach) % pools.length] ?? [];

export interface Stage {
  readonly client: pg.Client;
  readonly records: readonly DataRecord[];
  close(): Promise<void>;
}

/**
 * Random records in a database that sorts texts by the rules of English, in a session with an odd time zone and odd
 * dates: an answer that hung on any of these would differ.
 */
export async function openStage(serverUrl: string, seed: number): Promise<Stage> {
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
  const by = chance(seed);
  const records = Array.from({ length: kept }, (_, n) => {
    by.pool = poolOf(n);
    return record(by);
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

export const compareRules = (stage: Stage, seed: number, cases: number) => compare(stage, seed, cases, ruleQuestion);

export const compareQueries = (stage: Stage, seed: number, cases: number) => compare(stage, seed, cases, queryQuestion);

async function compare(stage: Stage, seed: number, cases: number, ask: (by: Chance) => Question): Promise<Agreement> {
  const by = chance(seed);
  const verdicts = { true: 0, false: 0, unknown: 0 };
  const disagreements: string[] = [];
  let done = 0;
  while (done < cases) {
    const asked = Array.from({ length: questionsAtOnce }, () => {
      const from = by.upTo(kept / recordsEach - 1) * recordsEach;
      by.pool = poolOf(from);
      return { question: ask(by), from };
    });
    const answers = await askDatabase(stage, asked);
    for (const [at, { question, from }] of asked.entries()) {
      for (let n = from; n < from + recordsEach; n += 1) {
        const subject = stage.records[n] as DataRecord;
        const here = question.inProcess(subject);
        const there = answers.get(`${at} ${n}`);
        verdicts[here === null ? 'unknown' : here ? 'true' : 'false'] += 1;
        done += 1;
        if (here === there) continue;
        disagreements.push(JSON.stringify({ seed, here, there, ...(question.told as object), record: subject }));
      }
    }
  }
  return { cases: done, verdicts, disagreements };
}

async function askDatabase({ client }: Stage, asked: readonly { question: Question; from: number }[]) {
  const sql = writer();
  const selects = asked.map(({ question, from }, at) => {
    const [met, refused] = question.asSql(sql);
    return `(select ${at} as at, r.n, (${met}) is true as met, (${refused}) is true as refused
      from records r where r.n >= ${from} and r.n < ${from + recordsEach})`;
  });
  const { rows } = await client.query(selects.join(' union all '), sql.values);
  // Both at once would be neither: it agrees with nothing.
  return new Map(
    rows.map(({ at, n, met, refused }) => [`${at} ${n}`, met && refused ? undefined : met || (refused ? false : null)]),
  );
}

function ruleQuestion(by: Chance): Question {
  const [json, { rule: parsed }] = drawn(
    () => rule(by),
    (json) => parseRule(json, [], fields),
  );
  const who = caller(by);
  return {
    told: { rule: json, who },
    inProcess: (record) => evaluate(parsed, who, record),
    asSql: (sql) => [compileRule(parsed, who, sql), refusal(parsed, who, sql)],
  };
}

// A rule that ends unknown is neither met nor refused, which the SQL of a rule alone does not show.
function refusal(rule: Rule, who: Principal, sql: Writer): string {
  if (typeof rule === 'object' && who.kind === 'signed_in')
    return compileDecision(decideCondition(rule, who, false), sql);
  return `(${compileRule(rule, who, sql)}) is not true`;
}

function queryQuestion(by: Chance): Question {
  const [json, { query: parsed }] = drawn(
    () => query(by),
    (json) => parseQuery(json, [], fields),
  );
  const [ruled, { fieldRules }] = drawn(
    () => ruledFields(by),
    (ruled) => parseFieldRules(ruled, []),
  );
  const who = caller(by);
  return {
    told: { query: json, who, fields: ruled },
    inProcess: (record) => matchesQuery(parsed, { principal: who, fieldRules }, record),
    asSql(sql) {
      const met = compileQuery(parsed, { principal: who, fieldRules }, sql);
      return [met, `(${met}) is not true`];
    },
  };
}

/** What has grown beyond a bound is drawn anew; nothing else may be refused. */
function drawn<J, T extends object>(draw: () => J, parse: (json: J) => Parsed<T>): [J, T] {
  for (;;) {
    const json = draw();
    const parsed = parse(json);
    if (!('faults' in parsed)) return [json, parsed];
    const odd = parsed.faults.filter(({ msg }) => !msg.startsWith('at most'));
    if (odd.length > 0) throw new Error(`not in the grammar: ${JSON.stringify({ json, odd })}`);
  }
}
