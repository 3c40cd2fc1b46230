// Explains a decision made by an entity's rules (docs/api/rules.md#explain-a-decision): its principal, the
// deciding clauses, and a change that would allow the operation. Never changes any data.
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
import { type Clause, isHidden, readTestedAttribute, resolveClauseOperand } from '../rules/decision/clauses.ts';
import { verdictSets } from '../rules/decision/verdict-set.ts';
import { findValue } from '../rules/values.ts';
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
  // The explanation has its own budget, because the remaining steps must not depend on data that the caller may not
  // read.
  const explanation = explainScene(withRuleChecks(access), asked, scene);
  const isTruncated = explanation.clauses.length > maxClauses;
  const clauses = explanation.clauses.slice(0, maxClauses);
  return withNotes({ ...explanation, clauses }, { ignored: scene.ignored, ...(isTruncated && { truncated: true }) });
}

/**
 * Most schema documents have only a few clauses, but thousands are possible and would produce a response of several
 * megabytes.
 */
const maxClauses = 500;

function checkInput({ operation, record_id, record, patch, as }: ExplainInput): void {
  const faults: Fault[] = [];
  const addFault = (name: string, type: string, msg: string) => faults.push({ loc: ['body', name], type, msg });
  if (operation === 'create') {
    if (record === undefined) addFault('record', 'missing', 'is required');
    if (record_id !== undefined)
      addFault('record_id', 'value_error', 'must not be sent for `create`; send the new record as `record`');
  } else if (record_id === undefined && record === undefined)
    addFault('record_id', 'missing', 'is required unless `record` is sent');
  else if (record_id !== undefined && record !== undefined)
    addFault('record', 'value_error', 'must not be sent together with `record_id`');
  if (patch !== undefined && operation !== 'update')
    addFault('patch', 'value_error', 'must not be sent unless the operation is `update`');
  const named = as && [as.app_user_id, as.email, as.anonymous].filter((each) => each !== undefined).length;
  if (named !== undefined && named !== 1)
    addFault('as', 'value_error', 'must contain exactly one of `app_user_id`, `email` and `anonymous`');
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
  // As in `listMembers`, read-only credentials may see neither who is a member nor the members' ids and names.
  if (access.caller.permission === 'read_only') throw emailNotAllowed();
  const principal = await findMemberPrincipal(db, access, as.email);
  if (principal === undefined) throw notFound('member_not_found');
  return { kind: 'person', principal };
}

const emailNotAllowed = () =>
  new Problem(
    'forbidden',
    'read_only_credential_route_not_allowed',
    "A read-only credential can't look up a person by e-mail address. Use a browser session, or a token or key with full access.",
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
      suggestion: reaches_app
        ? presentSuggestion(suggestChange(scene, judgement, budget))
        : suggestOpeningApp(judgement.decision),
    };
  });
}

/** If the rules allow the operation, only the app's login is in the way. */
const suggestOpeningApp = (decision: Explanation['decision']): Explanation['suggestion'] =>
  decision === 'allow'
    ? {
        text: 'The rules allow this, but the app is closed to callers who are not signed in. Set `public_settings` of the app to `public_without_login` with `updateApp`. Everything that the rules allow to anonymous callers is then open.',
        target: 'app',
        patch: [{ op: 'add', path: '/public_settings', value: 'public_without_login' }],
      }
    : null;

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

/** Presents all row rule clauses, but only the deciding field rule clauses. */
function presentClauses(
  { rules, fields, deciding }: Judgement,
  principal: Principal,
  budget: StepBudget,
): Explanation['clauses'] {
  const all = new Set([...rules.flatMap((rule) => rule.clauses), ...fields.flatMap((field) => field.deciding)]);
  const decisive = new Set(deciding);
  // The deciding clauses come first, so they are kept if the list is truncated.
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

/** Many clauses can test the same long value, so each value is measured only once. */
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
