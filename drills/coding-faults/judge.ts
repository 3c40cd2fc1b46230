// Judges the drill by the git host's journal and repositories, by the journals of the clients, the model and the
// boundaries, and by the API's final responses.
import type { Judged } from '../../harness/bench.ts';
import type { Ending } from './clients.ts';
import type { BoundaryLine } from './control.ts';
import type { BranchAtHost, HostView } from './git-host.ts';
import type { ModelCall } from './model.ts';
import { addition, creditsOf, expectFiles, summaryOf, turnsOf } from './plays.ts';
import type { ClientLine } from './requests.ts';
import { boundaries, gitCalls, gitFaults, type Script } from './scripts.ts';

/** The evidence that is compared with the expectations. */
export interface Evidence {
  readonly endings: readonly Ending[];
  readonly host: HostView;
  readonly modelCalls: readonly ModelCall[];
  readonly boundaryLines: readonly BoundaryLine[];
  readonly clientLines: readonly ClientLine[];
  /** Each session's charges, by session id. `reserved` is the amount that is still reserved. */
  readonly charged: ReadonlyMap<string, number>;
  readonly reserved: number;
  /** The number of sessions listed by the API. */
  readonly listed: number;
}

const cancelledWithinMs = 30_000;

/**
 * Which faults must have occurred: all faults in all git host calls, each fault in at least one call, or only the
 * scripted kills.
 */
export type Coverage = 'all' | 'some' | 'as_scripted';

export function judge(evidence: Evidence, coverage: Coverage): { judged: Judged[]; faults: Record<string, string[]> } {
  const { endings } = evidence;
  const faults: Record<string, string[]> = {
    'every request was answered as it should be': endings.flatMap((ending) => ending.faults),
    'every session ended as its script says': endings.flatMap(checkEnding),
    'one key is one session': checkIdentity(evidence),
    'a session has at most one branch, and its own': endings.flatMap((ending) => checkBranch(ending, evidence.host)),
    'a session has one pull request and shows it, and one that answers has none': endings.flatMap((ending) =>
      checkPullRequests(ending, evidence.host),
    ),
    'a turn is one commit, with each edit once': endings.flatMap((ending) => checkCommits(ending, evidence.host)),
    'a cancelled session has settled within 30 s': endings.flatMap(checkCancelTime),
    'no recorded step was asked of the model again': listRepeatedSteps(evidence.modelCalls),
    'a message that was added to a turn was read once': checkAdditions(evidence),
    'every turn was charged once': checkCharges(evidence),
    'what was to go wrong did':
      coverage === 'as_scripted' ? listMissingKills(evidence) : listMissing(evidence, coverage),
  };
  return {
    judged: Object.entries(faults).map(([bar, sentences]) => ({ bar, met: sentences.length === 0 })),
    faults: Object.fromEntries(Object.entries(faults).filter(([, sentences]) => sentences.length > 0)),
  };
}

const nameOf = ({ number, kind }: Script): string => `session ${number} (${kind})`;

/** A session that completed before its client could cancel it does not count as cancelled. */
const isCancelled = ({ cancelledFrom }: Ending): boolean =>
  cancelledFrom !== undefined && cancelledFrom !== 'completed';
const hasPullRequest = (ending: Ending): boolean => !isCancelled(ending) && ending.script.kind !== 'answer';

function checkEnding(ending: Ending): string[] {
  const { script, last } = ending;
  const expected = isCancelled(ending) ? 'cancelled' : 'completed';
  if (last.state !== expected) return [`${nameOf(script)} is ${last.state} ${last.error_code ?? ''}, not ${expected}`];
  if (expected === 'cancelled') return [];
  const outcome = script.kind === 'answer' ? 'answer' : 'pull_request';
  const summary = summaryOf(script, turnsOf(script.kind));
  if (last.outcome !== outcome) return [`${nameOf(script)} has the outcome ${last.outcome}, not ${outcome}`];
  return last.summary === summary ? [] : [`${nameOf(script)} has the summary ${last.summary}`];
}

function checkIdentity({ endings, clientLines, listed }: Evidence): string[] {
  const launches = clientLines.filter(({ action, status }) => action === 'launch' && status === 200);
  const several = [...Map.groupBy(launches, ({ session }) => session)].flatMap(([session, lines]) =>
    new Set(lines.map(({ session_id }) => session_id)).size > 1
      ? [`session ${session} was launched more than once`]
      : [],
  );
  return listed === endings.length ? several : [...several, `${listed} sessions are listed, not ${endings.length}`];
}

const slugOf = ({ title }: Script): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Returns all branches that were ever created for a session. */
function findBranches({ script, app }: Ending, { branches }: HostView): BranchAtHost[] {
  const own = new RegExp(`^plinth/[a-z2-7]{10}-${slugOf(script)}$`);
  return branches.filter(({ repository, name }) => repository === app.repository && own.test(name));
}

function checkBranch(ending: Ending, host: HostView): string[] {
  const { script, last } = ending;
  const branches = findBranches(ending, host);
  const least = hasPullRequest(ending) || ending.cancelledFrom === 'opening_pull_request' ? 1 : 0;
  const most = script.kind === 'answer' || ending.cancelledFrom === 'queued' ? 0 : 1;
  if (branches.length < least || branches.length > most) return [`${nameOf(script)} has ${branches.length} branches`];
  return branches.every(({ name }) => name === last.branch_name)
    ? []
    : [`${nameOf(script)} says ${last.branch_name}, and the host has ${branches[0]?.name}`];
}

function checkPullRequests(ending: Ending, host: HostView): string[] {
  const { script, app, last } = ending;
  const found = host.pulls.filter(({ repository, head }) => repository === app.repository && head === last.branch_name);
  const wasCreated = script.kind === 'cancel_created' && ending.cancelledFrom === 'opening_pull_request';
  const least = hasPullRequest(ending) || wasCreated ? 1 : 0;
  const most = hasPullRequest(ending) || ending.cancelledFrom === 'opening_pull_request' ? 1 : 0;
  if (found.length < least || found.length > most) return [`${nameOf(script)} has ${found.length} pull requests`];
  if (found[0]?.number !== last.pull_request?.number)
    return [`${nameOf(script)} shows pull request ${last.pull_request?.number}, and the host has ${found[0]?.number}`];
  return [];
}

/**
 * The branch must have moved once per turn, each time to a commit on top of the previous one, and must contain the
 * edited files.
 */
function checkCommits(ending: Ending, host: HostView): string[] {
  const { script } = ending;
  const [branch] = findBranches(ending, host);
  if (branch === undefined) return [];
  const turns = turnsOf(script.kind);
  const commits = new Set(branch.commits);
  if (commits.size !== turns || branch.commits.length !== turns)
    return [`${nameOf(script)} pushed ${branch.commits.length} times, ${commits.size} commits in ${turns} turns`];
  if (branch.added !== turns) return [`${nameOf(script)} has ${branch.added} commits on its base in ${turns} turns`];
  const differences = compareFiles(expectFiles(script), branch.files);
  return differences.length === 0 ? [] : [`${nameOf(script)} has other files: ${differences.join(', ')}`];
}

function compareFiles(expected: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...expected.keys(), ...actual.keys()]);
  return [...paths].filter((path) => expected.get(path) !== actual.get(path));
}

const checkCancelTime = (ending: Ending): string[] =>
  isCancelled(ending) && ending.settledMs > cancelledWithinMs
    ? [`${nameOf(ending.script)} took ${ending.settledMs} ms to be cancelled`]
    : [];

/** A step is requested only after the previous step has been recorded, so a turn's steps never go backwards. */
function listRepeatedSteps(calls: readonly ModelCall[]): string[] {
  const latest = new Map<string, number>();
  return calls.flatMap(({ session, turn, step }) => {
    const before = latest.get(`${session} ${turn}`) ?? 0;
    latest.set(`${session} ${turn}`, Math.max(before, step));
    return step < before ? [`session ${session}, turn ${turn}, step ${step} after ${before}`] : [];
  });
}

function checkAdditions({ endings, modelCalls }: Evidence): string[] {
  return endings.flatMap(({ script }) => {
    const expected = script.kind === 'folded_message' ? 1 : 0;
    const seen = modelCalls.findLast(({ session }) => session === script.number)?.additions ?? 0;
    return seen === expected ? [] : [`${nameOf(script)}: the model read “${addition}” ${seen} times`];
  });
}

function checkCharges({ endings, modelCalls, charged, reserved }: Evidence): string[] {
  const faults = reserved === 0 ? [] : [`${reserved} credits are still reserved`];
  for (const ending of endings) {
    const { script, last } = ending;
    const credits = charged.get(last.id) ?? 0;
    const turns = Array.from({ length: turnsOf(script.kind) }, (_, index) => index + 1);
    const whole = turns.reduce((sum, turn) => sum + creditsOf(script, turn), 0);
    const asked = new Set(modelCalls.flatMap(({ session, step }) => (session === script.number ? [step] : []))).size;
    const isRight = isCancelled(ending) ? credits <= Math.max(2, asked) : credits === whole;
    if (!isRight) faults.push(`${nameOf(script)} was charged ${credits}, and its turns cost ${whole}`);
  }
  return faults;
}

const cancelledStates = ['queued', 'running', 'needs_input', 'opening_pull_request'];

function listMissingKills({ boundaryLines, endings }: Evidence): string[] {
  const wasKilled = (number: number, boundary: string) =>
    boundaryLines.some((line) => line.killed && line.session === number && line.boundary === boundary);
  return endings.flatMap(({ script }) =>
    script.kills.flatMap(({ boundary }) =>
      wasKilled(script.number, boundary) ? [] : [`${nameOf(script)} was not killed at ${boundary}`],
    ),
  );
}

function listMissing({ boundaryLines, host, endings }: Evidence, coverage: Coverage): string[] {
  const killedAt = new Set(boundaryLines.flatMap(({ boundary, killed }) => (killed ? [boundary] : [])));
  const met = new Set(host.faults.map(({ call, fault }) => `${fault} at ${call}`));
  const wanted =
    coverage === 'some'
      ? gitFaults.filter((fault) => !host.faults.some((each) => each.fault === fault))
      : gitCalls.flatMap((call) => gitFaults.map((fault) => `${fault} at ${call}`)).filter((each) => !met.has(each));
  return [
    ...boundaries.filter((boundary) => !killedAt.has(boundary)).map((name) => `no kill at ${name}`),
    ...cancelledStates
      .filter((state) => !endings.some(({ cancelledFrom }) => cancelledFrom === state))
      .map((state) => `nothing was cancelled while ${state}`),
    ...wanted,
  ];
}
