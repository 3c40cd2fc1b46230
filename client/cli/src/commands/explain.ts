// `plinthctl explain`: what was refused last, what it needs, and what you have; or what an error code means.
import type { Plinth, RuleExplanation } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { readErrors } from '../describe.ts';
import { CommandError } from '../exit.ts';
import { colour, facts, table } from '../output.ts';
import { type LastRefusal, readLastRefusal } from '../refusal.ts';
import { suggest } from '../similar.ts';
import { parseJson, readValue } from '../values.ts';

interface ExplainOptions {
  readonly record?: string;
  readonly patch?: string;
}

type RuleOperation = 'create' | 'read' | 'update' | 'delete';

/** The operations that rules decide about. */
const ruleOperations: Readonly<Record<string, RuleOperation>> = {
  createRecord: 'create',
  getRecord: 'read',
  updateRecord: 'update',
  deleteRecord: 'delete',
};

const ruleCodes = ['rule_denied', 'field_rule_denied', 'record_not_found'];

export const define: Define = (command, cli) => {
  command
    .argument('[code]', 'an error code, such as rule_denied; without one, the last refusal is explained')
    .option('--record <json>', 'the record that was refused, as JSON, @file or - for stdin; for new records')
    .option('--patch <json>', 'the fields that were to be changed, as JSON, @file or -; for updates')
    .action((code: string | undefined, options: ExplainOptions) =>
      code === undefined ? explain(cli, options) : explainCode(cli, code),
    );
};

async function explainCode(cli: Cli, code: string): Promise<void> {
  const errors = await readErrors();
  const error = Object.hasOwn(errors, code) ? errors[code] : undefined;
  if (error === undefined) {
    const hint = suggest(code, Object.keys(errors), 'The code is in brackets at the end of a refusal.');
    throw new CommandError(`There is no error code ${code}. ${hint}`, 'no_code');
  }
  await cli.output.show({ code, ...error }, () =>
    facts({ code: `${code} (${error.status})`, meaning: error.meaning, 'what to do': error.action }),
  );
}

async function explain(cli: Cli, options: ExplainOptions): Promise<void> {
  const refusal = await readLastRefusal();
  if (refusal === undefined)
    throw new CommandError('Nothing was refused yet: this explains the last command that was.', 'no_refusal');
  const { plinth } = await cli.connect();
  const rules = await explainRules(plinth, refusal, options);
  const { credential, workspaces } = await plinth.getMe();
  const workspace = workspaces.find(({ id }) => id === credential.workspace_id);
  const have = {
    credential: credential.kind,
    permission: credential.permission,
    apps: credential.app_ids,
    role: workspace?.role ?? null,
    plan: workspace?.plan ?? null,
  };
  await cli.output.show({ ...refusal, needs: pickNeeds(refusal), have, rules: rules ?? null }, () =>
    [
      ...describeRefusal(refusal),
      '',
      facts({
        'you have': `${have.credential.replaceAll('_', ' ')}, ${have.permission.replaceAll('_', ' ')}, ${have.apps === null ? 'all apps' : `${have.apps.length} apps`}`,
        'your role': have.role === null ? undefined : `${have.role} of a workspace with the plan ${have.plan}`,
      }),
      ...(rules === undefined ? [] : ['', describeRules(rules)]),
    ].join('\n'),
  );
}

const usual = [
  'status',
  'operation',
  'detail',
  'request_id',
  'retry_safe',
  'outcome_unknown',
  'idempotency_key',
  'code',
];

/** What the problem says beside the usual members, such as the role that is required. */
const pickNeeds = ({ problem }: LastRefusal): Record<string, unknown> =>
  Object.fromEntries(Object.entries(problem).filter(([member]) => !usual.includes(member)));

function describeRefusal(refusal: LastRefusal): string[] {
  const { problem, command, at } = refusal;
  return [
    `plinthctl ${command}, ${at}`,
    `${String(problem.detail)} (${String(problem.code)})`,
    ...Object.entries(pickNeeds(refusal)).map(([member, value]) => `${member}: ${JSON.stringify(value)}`),
  ];
}

/** Asks which clauses decided, if rules may have. A new record is needed for it, because it is not stored here. */
async function explainRules(
  plinth: Plinth,
  { subject, problem }: LastRefusal,
  { record, patch }: ExplainOptions,
): Promise<RuleExplanation | undefined> {
  const { app_id, entity_name, entity_id, app_user_id } = subject;
  const operation = ruleOperations[String(subject.operation)];
  if (!ruleCodes.includes(String(problem.code)) || operation === undefined) return undefined;
  if (typeof app_id !== 'string' || typeof entity_name !== 'string') return undefined;
  if (record === undefined && typeof entity_id !== 'string') return undefined;
  return plinth.explainRules({
    app_id,
    entity_name,
    operation,
    ...(record === undefined ? { record_id: String(entity_id) } : { record: await readFields(record, '--record') }),
    ...(patch !== undefined && { patch: await readFields(patch, '--patch') }),
    ...(typeof app_user_id === 'string' && { as: { app_user_id } }),
  });
}

const readFields = async (value: string, name: string): Promise<Record<string, unknown>> =>
  parseJson(await readValue(value), name) as Record<string, unknown>;

function describeRules({ decision, rule, principal, clauses, suggestion }: RuleExplanation): string {
  const who = principal.email ?? principal.kind.replaceAll('_', ' ');
  const deciding = clauses.filter(({ deciding }) => deciding);
  return [
    `For ${who} the rules say ${colour('bold', decision)}${rule === 'present' ? '' : `, because the rule is ${rule}`}.`,
    ...(deciding.length === 0
      ? []
      : [
          table(deciding, [
            ['clause', ({ path }) => path],
            ['is', ({ value }) => value],
            ['compared with', ({ compared_with }) => compared_with],
            ['result', ({ result }) => result],
          ]),
        ]),
    ...(suggestion === null ? [] : [`What would allow it: ${suggestion.text}`]),
  ].join('\n');
}
