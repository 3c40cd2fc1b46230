// What the scripts of the pages share. It runs in the browser, before the page's own script.

const find = (id) => document.getElementById(id);

/** Shows these sections of the page and no other. The focus moves to the heading, so screen readers announce it. */
function show(...ids) {
  for (const section of document.querySelectorAll('[data-section]')) section.hidden = !ids.includes(section.id);
  const heading = [...document.querySelectorAll('h1')].find((each) => each.checkVisibility());
  if (heading === undefined) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** Sets the text of every element with this `data-fill`. Text from the API is never used as HTML. */
function fill(name, text) {
  for (const element of document.querySelectorAll(`[data-fill=${name}]`)) element.textContent = text;
}

/** An element with these properties and children. */
function create(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Calls the API. `error` is what to tell the person if the call was refused, and undefined otherwise. */
async function request(method, path, input, headers = {}) {
  const json = input && { body: JSON.stringify(input) };
  const type = input && { 'content-type': 'application/json' };
  const response = await fetch(path, { method, headers: { ...type, ...headers }, ...json });
  const body = await response.json();
  const warnings = response.headers.get('x-warning')?.split(',') ?? [];
  const error = response.ok ? undefined : describeProblem(body, path);
  return { status: response.status, headers: response.headers, body, warnings, error };
}

function describeProblem({ code, detail }, path) {
  // The API's own text is for programs. The set-up has a token of its own.
  if (/^credentials_/.test(code) && path !== '/api/setup') return 'Your session has ended. Reload the page to sign in.';
  if (!Array.isArray(detail)) return detail;
  return detail.map(({ loc, msg }) => `The ${String(loc.at(-1)).replaceAll('_', ' ')} ${msg}.`).join(' ');
}

/** The caller, or undefined if nobody is signed in. */
async function getMe() {
  const { status, body, error } = await request('GET', '/api/auth/me');
  if (error !== undefined && status !== 401) throw new Error(error);
  return error === undefined ? body : undefined;
}

/** Runs `handle` when the form is submitted, with its fields. What it returns is shown as an error. */
function onSubmit(id, handle) {
  const form = find(id);
  const button = form.querySelector('button');
  const error = form.appendChild(create('p', { className: 'error', role: 'alert' }));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void runAction(button, error, () => handle(Object.fromEntries(new FormData(form))));
  });
}

/** Runs `handle` when the button is clicked. What it returns is shown as an error in the element `error`. */
function onClick(button, error, handle) {
  button.addEventListener('click', () => runAction(button, error, handle));
}

/** The button is disabled meanwhile, so nothing is sent twice. */
async function runAction(button, error, handle) {
  button.disabled = true;
  error.textContent = '';
  try {
    error.textContent = (await handle()) ?? '';
  } catch (failure) {
    error.textContent = describeFailure(failure);
  }
  button.disabled = false;
}

/** Starts the page. If it can't be shown, the section `failed` says why. */
function startPage(start) {
  show('loading');
  start().catch((failure) => {
    fill('failure', describeFailure(failure));
    show('failed');
  });
}

/** `fetch` fails with a TypeError, and an answer that is not JSON comes from something between us and the server. */
const describeFailure = (failure) =>
  failure instanceof TypeError || failure instanceof SyntaxError
    ? 'The server could not be reached. Check your connection and try again.'
    : failure.message;

const withArticle = (noun) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

window.page = { find, show, fill, create, request, getMe, onSubmit, onClick, startPage, withArticle };
