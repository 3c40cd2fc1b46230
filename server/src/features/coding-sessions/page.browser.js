// The script of the page of a coding session. What it shows is text, whoever wrote it.
const { create, fill, find, onSubmit, request, show, startPage } = window.page;

const [, , appId, , sessionId] = location.pathname.split('/');
const path = `/api/apps/${appId}/imported/sessions/${sessionId}`;

const states = {
  queued: ['Queued', '', 'It waits for a worker.'],
  running: ['Working', 'active', 'An agent works on a copy of the repository.'],
  needs_input: ['Waits for an answer', 'wait', 'The agent goes on when the question below is answered.'],
  opening_pull_request: ['Opening the pull request', 'active', 'The branch is pushed.'],
  completed: ['Completed', 'good', 'The agent has finished.'],
  failed: ['Failed', 'bad', 'The agent could not finish.'],
  cancelling: ['Being cancelled', 'wait', 'The agent is being stopped, within 20 seconds.'],
  cancelled: ['Cancelled', '', 'The agent was stopped. A message goes on with the work.'],
};

const outcomes = {
  pull_request: 'The changes are in the pull request.',
  answer: 'The agent answered without changing anything.',
};

const failures = {
  provisioning_failed: 'The sandbox did not start. Launch the session again.',
  repository_unavailable:
    'The git host could not be reached, or refused the token. Check the connection of the repository, then launch again.',
  branch_not_found: 'The branch does not exist. Launch again with another one.',
  source_ref_not_found: 'The ref that the branch should start from does not exist. Launch again with another one.',
  branch_conflict:
    'Somebody else has changed the branch, so the work could not be joined with it. Launch a new session.',
  push_rejected: 'The git host refused the push, because of a protection or a missing right. The log has its reason.',
  pull_request_failed: 'The branch is pushed, but the git host refused the pull request. Send a message to try again.',
  checkout_failed: 'The repository is too large or broken.',
  credits_exhausted: 'The credits are used up. Send a message once there are more.',
  turn_limit_reached: 'The agent has made as many steps as one turn may have. Send a message to go on.',
  session_timeout: 'The agent has worked as long as one turn may take. Send a message to go on.',
  input_timeout: 'The question was not answered within 7 days. Send a message to go on.',
  sandbox_lost: 'The worker crashed twice at the same place. Launch the session again.',
  model_unavailable: 'The language model could not be reached. Launch again later.',
  model_refused: 'The language model declined the task.',
  internal_error: 'Something went wrong in the service. Launch the session again.',
};

const ended = ['completed', 'failed', 'cancelled'];

/** The state that is shown, the version of the session in which it was so, and that of the last event. */
let state;
let version = 0;
let seen = 0;

async function start() {
  const { status, headers, body, error } = await request('GET', path);
  if (status === 401) return show('sign-in');
  if (status === 403 || status === 404 || status === 400) return showMissing(error);
  if (error !== undefined) throw new Error(error);
  showSession(body, Number(headers.get('x-session-version')));
  await showInputRequest(body);
  show('session');
  void follow();
}

function showMissing(reason) {
  fill('missing', `${reason} You must be signed in as somebody who may edit the app.`);
  show('missing');
}

onSubmit('sign-in', async (input) => {
  const { error } = await request('POST', '/api/auth/sign-in', input);
  return error ?? start();
});

// ---- the session

function showSession(session, newVersion) {
  ({ state } = session);
  version = newVersion;
  const [label, kind, explanation] = states[state] ?? [state, '', ''];
  const { pull_request, branch_name } = session;
  fill('heading', pull_request?.title ?? `A task in ${session.repository_full_name}`);
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
  if (state !== 'needs_input') find('input-request').hidden = true;
  fill('no-log', ended.includes(state) ? 'There is none. It is kept for 7 days after the end.' : 'Nothing yet.');
  document.title = `${label}: ${pull_request?.title ?? session.repository_full_name}`;
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
  if (branch_name === null) return 'Nothing ran, so there is nothing to keep.';
  if (pull_request !== null)
    return `The branch ${branch_name} with its commits, and pull request #${pull_request.number}.`;
  return `What was pushed to the branch ${branch_name}, if anything: the last line of the log says what. No pull request was opened.`;
}

// ---- the open question

async function showInputRequest({ input_request_id }) {
  if (input_request_id === null) return;
  const { body, error } = await request('GET', `${path}/input-request`);
  if (error === undefined && body.input_request !== null) showQuestions(body.input_request);
}

function showQuestions(input) {
  find('input-request-heading').textContent = input.approval?.title ?? 'The agent asks';
  find('input-request-parts').replaceChildren(
    ...(input.approval === null ? input.questions.flatMap(createQuestion) : createApproval(input.approval)),
  );
  fill('expires', new Date(input.expires_at).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' }));
  const { input_request_id } = input;
  const body =
    input.approval === null
      ? { input_request_id, answers: input.questions.map(toAnswer) }
      : { input_request_id, approve: true };
  find('answer-example').textContent = `POST ${path}/messages\n\n${JSON.stringify(body, null, 2)}`;
  find('input-request').hidden = false;
}

function createQuestion({ text, options, multi_select, allow_custom_text }) {
  const rules = [multi_select && 'Several may be chosen.', allow_custom_text && 'Another answer in words is possible.'];
  return [
    create('p', { className: 'written', textContent: text }),
    create('ul', {}, ...options.map(createOption)),
    create('p', { className: 'quiet', textContent: rules.filter(Boolean).join(' ') }),
  ];
}

const createOption = ({ label, description }) =>
  create(
    'li',
    {},
    create('b', { textContent: label }),
    create('div', { className: 'quiet', textContent: description }),
  );

const actions = { run_command: 'It wants to run:', delete_files: 'It wants to delete:', plan: 'Its plan:' };

const createApproval = ({ description, action, details }) => [
  create('p', { className: 'written', textContent: description }),
  create('p', { className: 'quiet', textContent: actions[action] ?? action }),
  create('pre', { textContent: details }),
];

const toAnswer = ({ question_index, options, multi_select }) => {
  const [first] = options;
  if (first === undefined) return { question_index, custom_text: '…' };
  return multi_select
    ? { question_index, selected_labels: [first.label] }
    : { question_index, selected_label: first.label };
};

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

/** Follows the session for as long as the page is open. Every connection goes on after the last event that was seen. */
async function follow() {
  for (;;) {
    const status = await followOnce().catch(() => undefined); // the connection broke
    if (status === 401) return show('sign-in');
    const hasEnded = ended.includes(state);
    describeConnection(status === 200 || hasEnded ? '' : 'The connection was lost. Trying again …');
    await sleep(hasEnded ? 30_000 : 3_000);
    // A session that has ended goes on if somebody sends a message, and its pull request may be merged.
    if (hasEnded) await refresh().catch(() => undefined);
  }
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
  if (fields.event === 'state' && at > version) showSession(data, at);
  if (fields.event === 'input_request' && at >= version && state === 'needs_input') showQuestions(data);
  seen = at;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const describeConnection = (text) => {
  find('connection').textContent = text;
};

async function refresh() {
  if (document.hidden) return;
  const { headers, body, error } = await request('GET', path);
  if (error === undefined) showSession(body, Number(headers.get('x-session-version')));
}

startPage(start);
