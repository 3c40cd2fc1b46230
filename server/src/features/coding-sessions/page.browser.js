// The script of the page of a coding session. What it shows is text, whoever wrote it.
const { create, fill, find, getMe, onSubmit, request, show, startPage } = window.page;
const { connect, path, setPeople, setRequest, setState } = window.actions;

const states = {
  queued: ['Queued', '', 'Waiting for a worker.'],
  running: ['Working', 'active', 'An agent is working on a copy of the repository.'],
  needs_input: ['Waiting for an answer', 'wait', 'The agent continues once the question below is answered.'],
  opening_pull_request: ['Opening the pull request', 'active', 'The branch has been pushed.'],
  completed: ['Completed', 'good', 'The agent has finished.'],
  failed: ['Failed', 'bad', 'The agent could not finish.'],
  cancelling: ['Cancelling', 'wait', 'The agent will stop within 20 seconds.'],
  cancelled: ['Cancelled', '', 'The agent was stopped. Send a message to continue.'],
};

const outcomes = {
  pull_request: 'The changes are in the pull request.',
  answer: 'The agent answered without changing anything.',
};

const failures = {
  provisioning_failed: 'The sandbox did not start. Launch the session again.',
  repository_unavailable:
    'The git host could not be reached, or refused the token. Check the repository connection, then launch the session again.',
  branch_not_found: 'The branch does not exist. Launch a new session with an existing branch.',
  source_ref_not_found: 'The source ref does not exist. Launch a new session with an existing ref.',
  branch_conflict: 'Someone else changed the branch, and the changes could not be merged. Launch a new session.',
  push_rejected: 'The git host refused the push because of branch protection or a missing permission. See the log.',
  pull_request_failed: 'The branch was pushed, but the git host refused the pull request. Send a message to try again.',
  checkout_failed: 'The repository is too large or corrupt.',
  credits_exhausted: 'The credits have run out. Send a message to continue once more are available.',
  turn_limit_reached: 'The agent reached the step limit for one turn. Send a message to continue.',
  session_timeout: 'The agent reached the time limit for one turn. Send a message to continue.',
  input_timeout: 'The question was not answered within 7 days. Send a message to continue.',
  sandbox_lost: 'The worker crashed twice at the same point. Launch the session again.',
  model_unavailable: 'The language model could not be reached. Launch the session again later.',
  model_refused: 'The language model declined the task.',
  internal_error: 'An internal error occurred. Launch the session again.',
};

const ended = ['completed', 'failed', 'cancelled'];

/** The state that is shown, the version of the session in which it was so, and that of the last event. */
let state;
let title = '';
let version = 0;
let seen = 0;

async function start() {
  const { status, headers, body, error } = await request('GET', path);
  if (status === 401) return askToSignIn('');
  if (status === 403 || status === 404 || status === 400) return showMissing(error);
  if (error !== undefined) throw new Error(error);
  await showPeople();
  showSession(body, Number(headers.get('x-session-version')));
  show('session');
  void follow();
}

/** Reads who may answer, and the open question. */
async function showPeople() {
  const [me, { body, error }] = await Promise.all([getMe(), request('GET', `${path}/input-request`)]);
  if (error !== undefined) throw new Error(error);
  if (body.input_request !== null) setRequest(body.input_request);
  setPeople({ me: me?.user.email, launchedBy: body.launched_by });
}

function showMissing(reason) {
  fill('missing', `${reason} Sign in as someone who can edit the app.`);
  show('missing');
}

function askToSignIn(reason) {
  fill('sign-in-reason', reason);
  show('sign-in');
}

onSubmit('sign-in', async (input) => {
  const { error } = await request('POST', '/api/auth/sign-in', input);
  if (error !== undefined) return error;
  signIns += 1;
  find('sign-in').reset();
  return start();
});

// ---- the session

function showSession(session, newVersion) {
  ({ state } = session);
  version = newVersion;
  setState(state);
  const [label, kind, explanation] = states[state] ?? [state, '', ''];
  const { pull_request, branch_name } = session;
  title = session.title ?? title; // events of earlier releases have none
  fill('heading', title);
  fill('state', label);
  find('badge').className = `badge ${kind}`;
  fill('explanation', outcomes[session.outcome] ?? failures[session.error_code] ?? explanation);
  fill('repository', session.repository_full_name);
  fillOptional('branch', branch_name);
  fillOptional('reference', session.client_reference);
  fillOptional('error-code', session.error_code);
  showSummary(session.summary);
  showPullRequest(pull_request);
  fillOptional('kept', state === 'cancelled' ? describeKept(session) : null);
  fill('no-log', ended.includes(state) ? 'No log. Logs are kept for 7 days after a session ends.' : 'Nothing yet.');
  document.title = `${label}: ${title}`;
}

/** The element `name` is hidden if there is no such text. */
function fillOptional(name, text) {
  find(name).hidden = text === null;
  fill(name, text ?? '');
}

/** Markdown is shown as it was written, except that what stands between backticks looks like code. */
function showSummary(summary) {
  find('summary').hidden = summary === null;
  const parts = (summary ?? '').split(/`([^`\n]+)`/);
  find('summary-text').replaceChildren(
    ...parts.map((text, n) => (n % 2 === 0 ? text : create('code', { textContent: text }))),
  );
}

function showPullRequest(pullRequest) {
  find('pull-request').hidden = pullRequest === null;
  if (pullRequest === null) return;
  const link = find('pull-request-link');
  link.textContent = `#${pullRequest.number}`;
  if (/^https?:\/\//.test(pullRequest.html_url)) link.href = pullRequest.html_url;
  fill('pull-request-state', `${pullRequest.state}, into ${pullRequest.base_branch}`);
}

function describeKept({ branch_name, pull_request }) {
  if (branch_name === null) return 'Nothing ran, so nothing was kept.';
  if (pull_request !== null)
    return `The branch ${branch_name} with its commits, and pull request #${pull_request.number}.`;
  return `Any commits that were pushed to the branch ${branch_name}. See the last line of the log. No pull request was opened.`;
}

// ---- questions that were answered

const requests = new Map();

/** The line names the person and the answer. Its question is not known if the log no longer has it. */
function addAnswer({ text, input_request_id }) {
  const { approval, questions } = requests.get(input_request_id) ?? { approval: null, questions: [] };
  const asked = approval?.title ?? questions.map((question) => question.text).join('\n');
  const item = create('li', {}, create('div', { className: 'quiet written', textContent: asked }));
  item.append(create('div', { className: 'written', textContent: text }));
  find('answered-list').append(item);
  find('answered').hidden = false;
}

// ---- following

/** Lines are added together, because a log may come with thousands at once. The oldest ones make room. */
const maxLines = 2_000;
let waiting = [];

function addLine(text) {
  if (waiting.length === 0) setTimeout(showLines, 50);
  waiting.push(text);
}

function showLines() {
  const log = find('log');
  const isAtEnd = log.hidden || log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(...waiting.slice(-maxLines).map((text) => create('p', { textContent: text })));
  find('log-is-cut').hidden = log.childElementCount + waiting.length <= maxLines && find('log-is-cut').hidden;
  waiting = [];
  while (log.childElementCount > maxLines) log.firstElementChild.remove();
  log.hidden = false;
  find('no-log').hidden = true;
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}

let isFollowing = false;

/** Counts sign-ins on this page, because a request that was sent before the last one says nothing about it. */
let signIns = 0;

/**
 * Follows the session for as long as the person is signed in. Every connection continues after the last event that was
 * seen.
 */
async function follow() {
  if (isFollowing) return;
  isFollowing = true;
  for (;;) {
    const signInsBefore = signIns;
    const status = await followOnce().catch(() => undefined); // the connection broke
    if (status === 401 && signIns === signInsBefore) break;
    const hasEnded = ended.includes(state);
    describeConnection(status === 200 || hasEnded ? '' : 'Connection lost. Reconnecting …');
    await sleep(hasEnded ? 30_000 : 3_000);
    // A session that has ended continues if somebody sends a message, and its pull request may be merged.
    if (hasEnded && !document.hidden) await refresh().catch(() => undefined);
  }
  isFollowing = false;
  if (find('sign-in').hidden) askToSignIn('Your sign-in has expired.');
}

async function followOnce() {
  // An EventSource could not say that it wants the events from the beginning.
  const response = await fetch(`${path}/events`, { headers: { 'last-event-id': String(seen) } });
  if (!response.ok) return response.status;
  describeConnection('');
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) handleEvent(block);
  }
  return response.status;
}

/** A block has the lines `id`, `event` and `data`; a comment has none of them. */
function handleEvent(block) {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
  if (fields.data === undefined) return;
  const at = Number(fields.id);
  const data = JSON.parse(fields.data);
  if (fields.event === 'log') addLine(data.text);
  if (fields.event === 'log' && data.input_request_id !== undefined) addAnswer(data);
  if (fields.event === 'state' && at > version) showSession(data, at);
  if (fields.event === 'input_request') requests.set(data.input_request_id, data);
  if (fields.event === 'input_request' && at >= version && state === 'needs_input') setRequest(data);
  seen = at;
}

let wakeUp = () => {};

/** Returns earlier if `wakeUp` is called. */
const sleep = (ms) =>
  new Promise((resolve) => {
    wakeUp = resolve;
    setTimeout(resolve, ms);
  });

const describeConnection = (text) => {
  find('connection').textContent = text;
};

async function refresh() {
  const { headers, body, error } = await request('GET', path);
  const readVersion = Number(headers.get('x-session-version'));
  if (error !== undefined || readVersion < version) return;
  showSession(body, readVersion);
  if (body.input_request_id !== null) await showPeople();
  wakeUp();
}

connect({ refresh, askToSignIn });
startPage(start);
