// What a person can do on the page of a coding session: answer, approve, send a message, cancel. Nothing is shown as
// sent before the API has confirmed it.
const { create, fill, find, request } = window.page;
const { drawRequest } = window.question;

const [, , appId, , sessionId] = location.pathname.split('/');
const path = `/api/apps/${appId}/imported/sessions/${sessionId}`;

/** What is known about the session. `me` and `launchedBy` are e-mail addresses. */
let state;
let openRequest;
let me;
let launchedBy = null;

/** Functions of the page: reading the session again, and asking the person to sign in. */
let refresh;
let askToSignIn;

let isSending = false;

function connect(functions) {
  ({ refresh, askToSignIn } = functions);
}

function setPeople(people) {
  ({ me, launchedBy } = people);
  find('launched-by').hidden = launchedBy === null;
  fill('launched-by', launchedBy ?? '');
  render();
}

function setState(next) {
  state = next;
  if (state !== 'needs_input') openRequest = undefined;
  render();
}

function setRequest(input) {
  openRequest = input;
  render();
}

/** Only the person who launched the session may answer and send messages. Every editor of the app may cancel. */
const mayAnswer = () => me !== undefined && me === launchedBy;

/** Does nothing while something is being sent: a question stays until its answer has been confirmed or refused. */
function render() {
  if (isSending) return;
  renderRequest();
  renderMessage();
  find('cancel').hidden = !['queued', 'running', 'needs_input', 'opening_pull_request'].includes(state);
  if (find('cancel').hidden) find('cancel-dialog').close();
}

// ---- the open question

/** The question that is drawn, and for whom. */
let drawn = '';
let readForm;
const answeredHere = new Set();

function renderRequest() {
  const section = find('input-request');
  if (openRequest === undefined || answeredHere.has(openRequest.input_request_id)) return hideRequest(section);
  const wanted = `${openRequest.input_request_id} ${me}`;
  // What the person has typed stays if the same question is received again.
  if (wanted !== drawn) fillRequest(openRequest);
  drawn = wanted;
  if (!section.hidden) return;
  section.hidden = false;
  const hadNotice = document.activeElement === find('outcome');
  showOutcome('');
  if (hadNotice) find('input-request-heading').focus();
}

function hideRequest(section) {
  if (section.hidden) return;
  const hadFocus = section.contains(document.activeElement);
  section.hidden = true;
  const isNews = state === 'running' && mayAnswer() && find('outcome').textContent === '';
  if (isNews) showOutcome('This question has been answered.');
  if (hadFocus) focusOutcome();
}

function fillRequest(input) {
  const asked = input.questions.length > 1 ? 'Questions from the agent' : 'Question from the agent';
  find('input-request-heading').textContent = input.approval?.title ?? asked;
  find('answer-error').textContent = '';
  const until = new Date(input.expires_at).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' });
  const expiry = `Without an answer by ${until}, the session fails.`;
  find('answer-note').textContent = mayAnswer() ? expiry : `${describeWhoMay('answer')} ${expiry}`;
  const { elements, read } = drawRequest(input, mayAnswer() ? sendAnswer : undefined);
  readForm = read;
  find('answer-form').replaceChildren(create(mayAnswer() ? 'fieldset' : 'div', {}, ...elements));
}

const describeWhoMay = (verb) =>
  launchedBy === null
    ? `Nobody can ${verb}, because the account of the person who launched this session was removed.`
    : `Only ${launchedBy}, who launched this session, can ${verb}.`;

find('answer-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const { error, field, ...choice } = readForm();
  if (error !== undefined) return refuseInput('answer', error, field);
  void sendAnswer(choice);
});

find('answer-form').addEventListener('input', () => {
  find('answer-error').textContent = '';
});

function refuseInput(name, error, field) {
  find(`${name}-error`).textContent = error;
  field.focus();
}

function sendAnswer({ answer, confirmation }) {
  const { input_request_id } = openRequest;
  return perform('answer', {
    noun: 'answer',
    call: () => sendMessage({ input_request_id, ...answer }),
    confirm: () => {
      answeredHere.add(input_request_id);
      return confirmation;
    },
  });
}

// ---- messages

const whileActive = 'Send a message';
const afterEnd = ['Continue this session', 'A message starts another turn on the same branch.'];

/** The heading and the hint of the form, in the states in which a message is accepted. */
const messageTexts = {
  queued: [whileActive, 'The agent reads it when it starts.'],
  running: [whileActive, 'The agent reads it before its next step.'],
  completed: afterEnd,
  failed: afterEnd,
  cancelled: afterEnd,
};

function renderMessage() {
  const texts = messageTexts[state];
  const isShown = texts !== undefined && (mayAnswer() || texts === afterEnd);
  find('message').hidden = !isShown;
  if (!isShown) return;
  find('message-form').hidden = !mayAnswer();
  fill('message-heading', texts[0]);
  fill('message-hint', mayAnswer() ? texts[1] : describeWhoMay('continue it'));
}

find('message-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = find('message-text');
  const text = field.value.trim();
  if (text === '') return refuseInput('message', 'Write a message first.', field);
  void perform('message', {
    noun: 'message',
    call: () => sendMessage({ text }),
    confirm: () => {
      field.value = '';
      return 'Your message was sent';
    },
  });
});

// ---- cancelling

find('cancel').addEventListener('click', () => find('cancel-dialog').showModal());
find('keep-running').addEventListener('click', () => find('cancel-dialog').close());

find('cancel-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void perform('cancel', {
    noun: 'request',
    call: () => request('POST', `${path}/cancel`),
    confirm: ({ headers }) =>
      headers.get('x-changed') === 'false' ? 'The session had ended already' : 'Your request to cancel was accepted',
  });
});

// ---- sending

/** The keys of messages that got no response. The same message is sent again with its key, and is not taken twice. */
const keys = new Map();

async function sendMessage(message) {
  const content = JSON.stringify(message);
  const key = keys.get(content) ?? createKey();
  keys.set(content, key);
  const response = await request('POST', `${path}/messages`, message, { 'idempotency-key': key });
  if (response.status < 500) keys.delete(content);
  return response;
}

/** `crypto.randomUUID` does not exist on pages that were loaded by plain http from another machine. */
const createKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Runs one action at a time, and disables its form meanwhile. `call` sends it, `confirm` describes its success. */
async function perform(name, { noun, call, confirm }) {
  if (isSending) return;
  isSending = true;
  const focused = document.activeElement;
  const controls = find(`${name}-form`).querySelector('fieldset');
  controls.disabled = true;
  showOutcome('');
  find(`${name}-error`).textContent = '';
  find(`${name}-sending`).textContent = 'Sending…';
  const outcome = await call().then(
    (response) => explain(response, noun, confirm),
    () => ({ failure: describeUnknown(noun) }),
  );
  controls.disabled = false;
  find(`${name}-sending`).textContent = '';
  isSending = false;
  await showResult(name, outcome, focused);
}

async function showResult(name, { notice, kind, failure, signIn }, focused) {
  if (failure === undefined) find('cancel-dialog').close();
  if (signIn !== undefined) return askToSignIn(signIn);
  if (notice !== undefined) {
    showOutcome(notice, kind);
    focusOutcome();
  }
  render();
  // The stream brings the same news, but its connection may be broken.
  await refresh().catch(() => undefined);
  render();
  if (failure === undefined) return;
  const error = find(`${name}-error`);
  if (error.parentElement.checkVisibility()) {
    error.textContent = failure;
    return focused.focus();
  }
  // The session has changed meanwhile, and hides the form. If it was cancelled or the question was answered, it says so.
  if (name !== 'cancel' && find('outcome').textContent === '') showOutcome(failure, 'wait');
  focusOutcome();
}

/** What to tell the person: that the action succeeded, or why it failed and what to do. */
function explain(response, noun, confirm) {
  const { status, headers, body, warnings, error } = response;
  if (error === undefined) {
    const wait = warnings.includes('no_worker_seen')
      ? ' No worker is running, so the session has to wait for one.'
      : '';
    return { notice: `${confirm(response)}.${wait}` };
  }
  const notSent = `Your ${noun} was not accepted.`;
  if (status === 401) return { signIn: `Your sign-in has expired. ${notSent} Sign in, then send it again.` };
  if (body.code in conflicts) return { notice: `${notSent} ${conflicts[body.code]}`, kind: 'wait' };
  if (status !== 429) return { failure: `${notSent} ${error}` };
  const seconds = headers.get('retry-after') ?? 60;
  return { failure: `${notSent} There were too many requests. Send it again in ${seconds} seconds.` };
}

const conflicts = {
  session_not_waiting: 'The question had been answered already, in another window or through the API.',
  input_request_changed:
    'The question had been answered already, in another window or through the API. The agent now asks another one.',
};

const describeUnknown = (noun) =>
  `The server could not be reached, so it is unknown whether your ${noun} arrived. Check your connection, then send it again: it is not taken twice.`;

// ---- outcomes

function showOutcome(text, kind = '') {
  find('outcome').textContent = text;
  find('outcome').className = `notice ${kind}`;
}

/** The heading of the page receives the focus if there is no outcome to read. */
const focusOutcome = () =>
  (find('outcome').textContent === '' ? document.querySelector('#session h1') : find('outcome')).focus();

window.actions = { path, connect, setPeople, setState, setRequest };
