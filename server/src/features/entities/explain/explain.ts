// Owns explaining what an entity's rules decide (docs/api/rules.md#explain-a-decision): for whom, by which clauses, and what
// would allow it. Changes nothing.
import { findAppUserPrincipal, findMemberPrincipal } from '../../../core/auth/other-principals.ts';
import type { Principal } from '../../../core/auth/principal.ts';
import type { MemberDataAccess } from '../../../core/auth/proofs.ts';
import { type Answer, withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { Explanation } from '../contract.ts';
import { type RecordAccess, withRuleChecks } from '../records/record.ts';
import { countTextSteps, type StepBudget, spendSteps } from '../rules/budget.ts';
import { type Clause, isHidden, readTestedAttribute, resolveClauseOperand } from '../rules/clauses.ts';
import { findValue } from '../rules/values.ts';
import { verdictSets } from '../rules/verdict-set.ts';
import type { Entity } from '../schemas/schema-cache.ts';
import { type JudgedClause, type JudgedRule, type Judgement, judgeOperation, type ViewedRecord } from './judgement.ts';
import { buildScene, type Question, type Scene } from './scene.ts';
import { suggestChange } from './suggestion.ts';

interface ExplainInput extends Question {
  readonly as?: AskedPrincipal | undefined;
}

interface AskedPrincipal {
  readonly app_user_id?: string | undefined;
  readonly email?: string | undefined;
  readonly anonymous?: true | undefined;
}

export async function explainRules(
  db: Db,
  access: MemberDataAccess & { readonly entity: Entity },
  input: ExplainInput,
  now: Date,
): Promise<Answer<Explanation>> {
  checkInput(input);
  const asked = await findPrincipal(db, access, input.as);
  const scene = await buildScene(db, withRuleChecks(access), asked.principal, input, now);
  // A budget of its own: how many steps are left must not depend on what the asker may not read.
  const explanation = explainScene(withRuleChecks(access), asked, scene);
  const isTruncated = explanation.clauses.length > maxClauses;
  const clauses = explanation.clauses.slice(0, maxClauses);
  return withNotes({ ...explanation, clauses }, { ignored: scene.ignored, ...(isTruncated && { truncated: true }) });
}

/** Documents have a few clauses. Thousands are possible, and would make an answer of megabytes. */
const maxClauses = 500;

function checkInput({ operation, record_id, record, patch, as }: ExplainInput): void {
  const faults: Fault[] = [];
  const addFault = (name: string, type: string, msg: string) => faults.push({ loc: ['body', name], type, msg });
  if (operation === 'create') {
    if (record === undefined) addFault('record', 'missing', 'is required');
    if (record_id !== undefined) addFault('record_id', 'value_error', 'must not be sent: create is about a new record');
  } else if (record_id === undefined && record === undefined)
    addFault('record_id', 'missing', 'is required, or `record` instead');
  else if (record_id !== undefined && record !== undefined)
    addFault('record', 'value_error', 'must not be sent together with `record_id`');
  if (patch !== undefined && operation !== 'update')
    addFault('patch', 'value_error', 'must not be sent: only updates have one');
  const named = as && [as.app_user_id, as.email, as.anonymous].filter((each) => each !== undefined).length;
  if (named !== undefined && named !== 1)
    addFault('as', 'value_error', 'must have one of `app_user_id`, `email` and `anonymous`');
  if (faults.length > 0) throw new ValidationError(faults);
}

interface Asked {
  readonly kind: 'person' | 'app_user' | 'anonymous';
  readonly principal: Principal;
}

async function findPrincipal(db: Db, access: MemberDataAccess, as: AskedPrincipal | undefined): Promise<Asked> {
  if (as?.anonymous !== undefined) return { kind: 'anonymous', principal: { kind: 'anonymous', isManager: false } };
  if (as?.app_user_id !== undefined) {
    const principal = await findAppUserPrincipal(db, access, as.app_user_id);
    if (principal === undefined) throw notFound('app_user_not_found');
    return { kind: 'app_user', principal };
  }
  if (as?.email === undefined) return { kind: 'person', principal: access.principal };
  // As `listMembers` does: who is a member, and their ids and names, are not for read-only credentials.
  if (access.caller.permission === 'read_only') throw emailNotAllowed();
  const principal = await findMemberPrincipal(db, access, as.email);
  if (principal === undefined) throw notFound('member_not_found');
  return { kind: 'person', principal };
}

const emailNotAllowed = () =>
  new Problem(
    'forbidden',
    'read_only_credential_route_not_allowed',
    "A read-only credential can't ask about a person by e-mail. Use a browser session, or a token or key with full access.",
  );

export function explainScene({ app, checks }: RecordAccess, asked: Asked, scene: Scene): Explanation {
  const { operation } = scene.situation;
  return checks.withinBudget(operation, (budget) => {
    const judgement = judgeOperation(scene.situation, budget);
    const reaches_app = asked.kind !== 'anonymous' || app.public_settings === 'public_without_login';
    return {
      decision: reaches_app ? judgement.decision : 'deny',
      rule: presentRule(judgement.rules[0]),
      principal: presentPrincipal(asked, reaches_app),
      clauses: presentClauses(judgement, asked.principal, budget),
      fields: judgement.fields.map(({ name, decision, deciding }) => ({
        name,
        decision,
        clause: deciding[0]?.clause.path ?? null,
      })),
      suggestion: reaches_app ? presentSuggestion(suggestChange(scene, judgement, budget)) : null,
    };
  });
}

const presentSuggestion = (suggestion: ReturnType<typeof suggestChange>): Explanation['suggestion'] =>
  suggestion && { ...suggestion, patch: suggestion.patch.map((operation) => ({ ...operation })) };

function presentRule(judged: JudgedRule | undefined): Explanation['rule'] {
  switch (judged?.rule.constant) {
    case undefined:
      return 'present';
    case 'everyone':
      return 'true';
    case 'nobody':
      return 'false';
    default:
      return 'missing';
  }
}

function presentPrincipal({ kind, principal }: Asked, reaches_app: boolean): Explanation['principal'] {
  const manages_app = principal.isManager;
  if (principal.kind === 'anonymous')
    return { kind, id: null, email: null, full_name: null, role: null, manages_app, reaches_app };
  const { id, email, full_name, role } = principal;
  return { kind, id, email, full_name, role, manages_app, reaches_app };
}

/** The clauses of the row rules, and of field rules those that decide. */
function presentClauses(
  { rules, fields, deciding }: Judgement,
  principal: Principal,
  budget: StepBudget,
): Explanation['clauses'] {
  const all = new Set([...rules.flatMap((rule) => rule.clauses), ...fields.flatMap((field) => field.deciding)]);
  const decisive = new Set(deciding);
  // Should the list be cut, the clauses that decide are kept.
  const ordered = all.size <= maxClauses ? all : new Set([...decisive, ...all]);
  const shorten = createShortener(budget);
  return [...ordered].slice(0, maxClauses + 1).map((judged) => ({
    path: judged.clause.path,
    value: shorten(readTestedValue(judged, principal)),
    compared_with: shorten(resolveClauseOperand(judged.clause, principal, budget)),
    result: presentResult(judged),
    deciding: decisive.has(judged),
  }));
}

function presentResult({ possible, clause, on }: JudgedClause): Explanation['clauses'][number]['result'] {
  if (possible === verdictSets.unknown) return 'unknown';
  if (isHidden(clause.subject, on)) return 'hidden';
  return possible === verdictSets.true ? 'true' : 'false';
}

const hiddenValue = '•';

function readTestedValue({ clause: { subject }, on }: JudgedClause, principal: Principal): unknown {
  if (subject === undefined) return null;
  if ('attribute' in subject) return readTestedAttribute(subject.attribute, principal) ?? null;
  return isHidden(subject, on) ? hiddenValue : (readField(subject, on) ?? null);
}

const readField = ({ field }: Extract<Clause['subject'], { field: unknown }>, { record, shown }: ViewedRecord) =>
  field.column === undefined ? findValue(shown, field.names) : record[field.column];

const maxValueLength = 1_000;

/** Many clauses can test the same long value: it is measured once. */
function createShortener(budget: StepBudget): (value: unknown) => unknown {
  const known = new Map<unknown, unknown>();
  return (value) => {
    if (known.has(value)) return known.get(value);
    const length = JSON.stringify(value)?.length ?? 0;
    spendSteps(budget, countTextSteps(length));
    const shown = length > maxValueLength ? '…' : value;
    known.set(value, shown);
    return shown;
  };
}
