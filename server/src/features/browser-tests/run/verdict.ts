// Owns the verdict of a run. It is computed from the checks and from what the browser reports; nothing that the model or the
// page writes takes part in it.
//
// | found                                                        | severity | verdict      |
// |--------------------------------------------------------------|----------|--------------|
// | a check that does not hold                                    | high     | failed       |
// | an exception that nobody caught, an error in the console      | medium   | failed       |
// | a request of the app: answered with 5xx, or not at all        | medium   | failed       |
// | one step created the same record of the app twice             | medium   | failed       |
// | a request of the app: answered with 4xx                       | low      | as otherwise |
// | a failed request to somebody else, a host that is not allowed | low      | as otherwise |
// | no check, a limit, no model, an expectation left unchecked    | none     | inconclusive |
// | a recorded step left out, more errors than could be kept      | none     | inconclusive |
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

/** `apiOrigins`: where the app's own requests go, besides its own origin. The evidence has no credentials any more. */
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
      toIssue('medium', 'Error in the console', `${text}${times(count)}`, step),
    ),
  ];
}

/** Equal messages once, with the step of the first. */
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
    const description = `One step sent ${method} ${url} ${often} with the same content, and each created a record.`;
    const severity = isOwnUrl(url, apiOrigins) ? 'medium' : 'low';
    return toIssue(severity, `The same record was created ${often}`, description, step);
  });
}

const isOwnUrl = (url: string, apiOrigins: readonly string[]): boolean =>
  url.startsWith('/') || apiOrigins.some((origin) => url.startsWith(`${origin}/`));

const findBlockedHosts = ({ blocked }: Evidence): Issue[] =>
  blocked.map((host) =>
    toIssue('low', 'Host not allowed', `Tests can't reach ${host}, which the page asked for.`, null),
  );

const toIssue = (severity: Issue['severity'], title: string, description: string, step: number | null): Issue => ({
  severity,
  title: title.slice(0, 300).toWellFormed(),
  description: description.slice(0, 1_000).toWellFormed(),
  step_number: step === 0 ? null : step,
});

const ranks: Readonly<Record<Issue['severity'], number>> = { high: 0, medium: 1, low: 2 };

/** The worst first. Within a severity they keep their order. */
const sortIssues = (issues: readonly Issue[]): Issue[] =>
  issues.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]);

/** Why the run says too little to have passed, in sentences. */
function findGaps({ ended, steps, uncheckedExpectations, leftOut }: RunResult, { cut }: Evidence): string[] {
  const hasCheck = steps.some(({ check }) => check !== null);
  const unchecked = uncheckedExpectations.length;
  return [
    ...(ended === 'finished' ? [] : [endings[ended]]),
    ...(hasCheck ? [] : ['Nothing was checked.']),
    ...(unchecked === 0 ? [] : [`${count(unchecked, 'expectation')} of the recording could not be checked.`]),
    ...(leftOut === 0 ? [] : [`${count(leftOut, 'step')} of the recording left out.`]),
    // What is not listed could be the error that fails the test.
    ...(cut ? ['The page reported more than could be kept.'] : []),
  ];
}

const endings: Readonly<Record<Exclude<RunResult['ended'], 'finished'>, string>> = {
  step_limit: 'The run took more steps than a test may take.',
  time_limit: 'The run took longer than a test may take.',
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
  const held = `${checks - failed} of ${count(checks, 'check')} held`;
  return [
    verdict === 'passed' ? `Passed: ${held}, in ${count(steps.length, 'step')}.` : `${capitalize(verdict)}: ${held}.`,
    ...(errors === 0 ? [] : [`${count(errors, 'error')} of the page or its requests.`]),
    ...gaps,
    ...(healed === 0 ? [] : [`${count(healed, 'step')} differed from the recording, because the page has changed.`]),
  ].join(' ');
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
