// A run's verdict, which is computed from the checks and the browser's findings. Nothing that the model or the
// page writes influences it.
//
// | finding                                                     | severity | verdict      |
// |-------------------------------------------------------------|----------|--------------|
// | a failed check                                              | high     | failed       |
// | an uncaught exception, an error in the console              | medium   | failed       |
// | a request from the app with a 5xx response, or no response  | medium   | failed       |
// | the app creates the same record twice in one step           | medium   | failed       |
// | a request from the app with a 4xx response                  | low      | unaffected   |
// | a failed request to a third party, a blocked host           | low      | unaffected   |
// | no check, a limit, no model, an expectation left unchecked  | none     | inconclusive |
// | a recorded step left out, more errors than could be kept    | none     | inconclusive |
import type { Evidence, PageMessage } from '../../../gateways/browser/session/types.ts';
import { capitalize } from '../../../kit/text.ts';
import type { RunResult, RunStep } from './types.ts';

export interface Issue {
  readonly severity: 'low' | 'medium' | 'high';
  readonly title: string;
  readonly description: string;
  readonly step_number: number | null;
}

export interface Verdict {
  readonly verdict: 'passed' | 'failed' | 'inconclusive';
  readonly summary: string;
  readonly issues: readonly Issue[];
}

const maxIssues = 50;

/**
 * `apiOrigins` lists the origins, besides the app's own, that the app sends requests to. The evidence must no longer
 * contain credentials.
 */
export function judge(result: RunResult, evidence: Evidence, apiOrigins: readonly string[] = []): Verdict {
  const issues = [
    ...findFailedChecks(result.steps),
    ...findPageErrors(evidence),
    ...findNetworkIssues(evidence, apiOrigins),
    ...findRepeats(evidence, apiOrigins),
    ...findBlockedHosts(evidence),
  ];
  const gaps = findGaps(result, evidence);
  const hasFailed = issues.some(({ severity }) => severity !== 'low');
  const verdict = hasFailed ? 'failed' : gaps.length > 0 ? 'inconclusive' : 'passed';
  return { verdict, summary: summarize(result, verdict, issues, gaps), issues: sortIssues(issues).slice(0, maxIssues) };
}

const findFailedChecks = (steps: readonly RunStep[]): Issue[] =>
  steps.flatMap(({ number, check }) =>
    check === null || check.holds
      ? []
      : [toIssue('high', `Check failed: ${check.expectation}`, check.seen || 'Nothing was found.', number)],
  );

function findPageErrors({ page_errors, console_errors }: Evidence): Issue[] {
  return [
    ...countMessages(page_errors).map(({ text, step, count }) =>
      toIssue('medium', 'Uncaught exception', `${text}${times(count)}`, step),
    ),
    ...countMessages(console_errors).map(({ text, step, count }) =>
      toIssue('medium', 'Console error', `${text}${times(count)}`, step),
    ),
  ];
}

/** Merges equal messages, keeping the first one's step. */
const countMessages = (messages: readonly PageMessage[]) =>
  [...Map.groupBy(messages, ({ text }) => text)].map(([text, [first, ...more]]) => ({
    text,
    step: first?.step ?? 0,
    count: more.length + 1,
  }));

const times = (count: number): string => (count === 1 ? '' : ` (${count} times)`);

function findNetworkIssues({ network_failures }: Evidence, apiOrigins: readonly string[]): Issue[] {
  return network_failures.map((failure) => {
    const { method, url, reason, step } = failure;
    const isOwn = isOwnUrl(url, apiOrigins);
    const isRefusal = failure.status !== null && failure.status < 500;
    const title = isRefusal ? 'Request refused' : 'Request failed';
    return toIssue(isOwn && !isRefusal ? 'medium' : 'low', title, `${method} ${url}: ${reason}`, step);
  });
}

function findRepeats({ repeated_requests }: Evidence, apiOrigins: readonly string[]): Issue[] {
  return repeated_requests.map(({ method, url, count, step }) => {
    const often = count === 2 ? 'twice' : `${count} times`;
    const description = `One step sent ${method} ${url} ${often} with the same content, and each request created a record.`;
    const severity = isOwnUrl(url, apiOrigins) ? 'medium' : 'low';
    return toIssue(severity, `The same record was created ${often}`, description, step);
  });
}

const isOwnUrl = (url: string, apiOrigins: readonly string[]): boolean =>
  url.startsWith('/') || apiOrigins.some((origin) => url.startsWith(`${origin}/`));

const findBlockedHosts = ({ blocked }: Evidence): Issue[] =>
  blocked.map((host) =>
    toIssue('low', 'Host not allowed', `The page requested ${host}, which tests can't reach.`, null),
  );

const toIssue = (severity: Issue['severity'], title: string, description: string, step: number | null): Issue => ({
  severity,
  title: title.slice(0, 300).toWellFormed(),
  description: description.slice(0, 1_000).toWellFormed(),
  step_number: step === 0 ? null : step,
});

const ranks: Readonly<Record<Issue['severity'], number>> = { high: 0, medium: 1, low: 2 };

/** Sorts by severity, worst first. Issues of equal severity keep their order. */
const sortIssues = (issues: readonly Issue[]): Issue[] =>
  issues.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]);

/** The reasons why a run can't pass, as sentences. */
function findGaps({ ended, steps, uncheckedExpectations, leftOut }: RunResult, { cut }: Evidence): string[] {
  const hasCheck = steps.some(({ check }) => check !== null);
  const unchecked = uncheckedExpectations.length;
  return [
    ...(ended === 'finished' ? [] : [endings[ended]]),
    ...(hasCheck ? [] : ['Nothing was checked.']),
    ...(unchecked === 0 ? [] : [`${count(unchecked, 'recorded expectation')} could not be checked.`]),
    ...(leftOut === 0 ? [] : [`${count(leftOut, 'recorded step')} left out.`]),
    // An error that was not stored could be one that fails the test.
    ...(cut ? ['The page reported more than could be stored.'] : []),
  ];
}

const endings: Readonly<Record<Exclude<RunResult['ended'], 'finished'>, string>> = {
  step_limit: 'The run reached the step limit for a test.',
  time_limit: 'The run reached the time limit for a test.',
  model_unavailable: 'The language model was unavailable.',
  cancelled: 'The run was cancelled.',
};

function summarize(
  { steps }: RunResult,
  verdict: Verdict['verdict'],
  issues: readonly Issue[],
  gaps: readonly string[],
): string {
  const checks = steps.filter(({ check }) => check !== null).length;
  const failed = steps.filter(({ check }) => check?.holds === false).length;
  const errors = issues.filter(({ severity }) => severity === 'medium').length;
  const healed = steps.filter((step) => step.healed !== null).length;
  const held = `${checks - failed} of ${count(checks, 'check')} passed`;
  return [
    verdict === 'passed' ? `Passed: ${held}, in ${count(steps.length, 'step')}.` : `${capitalize(verdict)}: ${held}.`,
    ...(errors === 0 ? [] : [`${count(errors, 'error')} in the page or its requests.`]),
    ...gaps,
    ...(healed === 0 ? [] : [`${count(healed, 'step')} differed from the recording because the page has changed.`]),
  ].join(' ');
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
