// The script of the page at `/`.
const { create, fill, find, getMe, onClick, onSubmit, request, show, startPage } = window.page;

async function start() {
  const me = await getMe();
  if (me !== undefined) return showHome(me);
  const { body, error } = await request('GET', '/api/setup');
  if (error !== undefined) throw new Error(error);
  return body.initialised ? showSignIn() : show('set-up');
}

// ---- signed out

/** The fragment of the address says which form: links in mails and on other pages lead to `/#forgot-password`. */
async function showSignIn() {
  if (location.hash === '#forgot-password') return showForgotPassword();
  show('sign-in');
}

async function showForgotPassword() {
  find('forgot_email').value ||= find('email').value;
  const { body } = await request('GET', '/api/info');
  find('mail-inbox').hidden = body.mail_inbox_url === null;
  find('inbox-link').href = body.mail_inbox_url ?? '';
  show(body.features.mail ? 'forgot-password' : 'no-mail');
}

onSubmit('set-up', async (input) => {
  const { error } = await request('POST', '/api/setup', input);
  return error ?? start();
});

onSubmit('sign-in', async (input) => {
  const { error } = await request('POST', '/api/auth/sign-in', input);
  return error ?? start();
});

onSubmit('forgot-password', async (input) => {
  const { warnings, error } = await request('POST', '/api/auth/password/forgot', input);
  if (error !== undefined) return error;
  fill('forgot-email', input.email);
  find('mail-waits').hidden = !warnings.includes('no_worker_seen');
  show('link-sent');
});

// ---- signed in

let workspaceNames = new Map();

async function showHome({ user, workspaces }) {
  workspaceNames = new Map(workspaces.map(({ id, name }) => [id, name]));
  find('password-set').hidden = location.hash !== '#password-set';
  fill('name', user.full_name);
  fill('email', user.email);
  showExample('$TOKEN');
  find('no-workspaces').hidden = workspaces.length > 0;
  find('tokens').hidden = workspaces.length === 0;
  find('workspaces').replaceChildren(
    ...workspaces.map(({ name, role }) =>
      create('li', { className: 'row' }, name, create('span', { className: 'quiet', textContent: role })),
    ),
  );
  find('token_workspace').replaceChildren(
    ...workspaces.map(({ id, name }) => create('option', { value: id, textContent: name })),
  );
  await Promise.all([showApps(workspaces), showTokens(), showSessions()]);
  show('home');
  if (location.hash === '#sessions') find('sessions').scrollIntoView();
}

const showExample = (token) => {
  find('example').textContent = `curl ${location.origin}/api/auth/me -H "Authorization: Bearer ${token}"`;
};

/** The page is shown even if the apps can't be read. */
async function showApps(workspaces) {
  const lists = await Promise.all(
    workspaces.map(async ({ id, name }) => {
      const answer = await request('GET', `/api/apps?sort=-created_date&limit=100&workspaceId=${id}`);
      return { workspace: name, ...answer.body, error: answer.error };
    }),
  );
  const items = lists.flatMap(({ workspace, items = [] }) =>
    items.filter(({ published }) => published !== null).map((app) => createAppItem(app, workspace)),
  );
  const failed = lists.filter(({ error }) => error !== undefined).map(({ workspace }) => workspace);
  find('app-list').replaceChildren(...items);
  find('more-apps').hidden = !lists.some(({ has_more }) => has_more);
  find('apps-error').textContent =
    failed.length > 0 ? `The apps of ${failed.join(', ')} could not be read. Reload the page to try again.` : '';
  find('apps').hidden = items.length === 0 && failed.length === 0;
}

const createAppItem = ({ name, published }, workspace) =>
  create(
    'li',
    { className: 'row' },
    create('a', { href: published.url, rel: 'noreferrer', textContent: name }),
    create('span', { className: 'quiet', textContent: workspace }),
  );

onSubmit('create-token', async ({ name, workspace, permission, days }) => {
  const input = { name, permission, expires_in_days: Number(days) };
  const { body, error } = await request('POST', `/api/auth/tokens?workspaceId=${workspace}`, input);
  if (error !== undefined) return error;
  find('token-text').textContent = body.token;
  showExample(body.token);
  find('create-token').reset();
  find('copy-token').textContent = 'Copy';
  find('new-token').hidden = false;
  await showTokens();
});

/** The page is shown even if the tokens can't be read. */
async function showTokens() {
  const { body, error } = await request('GET', '/api/auth/tokens');
  find('tokens-error').textContent = error === undefined ? '' : `Your tokens could not be read. ${error}`;
  if (error !== undefined) return;
  find('token-list').replaceChildren(...body.map(createTokenItem));
  find('no-tokens').hidden = body.length > 0;
}

function createTokenItem({ id, name, permission, workspace_id, expires_at, last_used_at }) {
  const facts = [
    workspaceNames.get(workspace_id),
    permission === 'full_access' ? 'full access' : 'read-only',
    expires_at === null ? 'never expires' : `until ${formatDay(expires_at)}`,
    last_used_at === null ? 'never used' : `last used ${formatDay(last_used_at)}`,
  ].filter(Boolean);
  const label = create('div', {}, name, create('div', { className: 'quiet', textContent: facts.join(', ') }));
  const button = create('button', { className: 'small', type: 'button', textContent: 'Revoke' });
  button.setAttribute('aria-label', `Revoke the token ${name}`);
  onClick(button, find('tokens-error'), async () => {
    const { error } = await request('DELETE', `/api/auth/tokens/${id}`);
    await showTokens();
    return error;
  });
  return create('li', { className: 'row' }, label, button);
}

const formatDay = (time) => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

// Browsers allow copying only on pages that came by https, or from this machine.
find('copy-token').hidden = navigator.clipboard === undefined;
onClick(find('copy-token'), find('copy-error'), async () => {
  await navigator.clipboard.writeText(find('token-text').textContent);
  find('copy-token').textContent = 'Copied';
});

async function showSessions() {
  const { body, error } = await request('GET', '/api/auth/sessions');
  if (error !== undefined) throw new Error(error);
  find('session-list').replaceChildren(...body.map(createSessionItem));
  find('end-others').hidden = body.length < 2;
}

function createSessionItem({ id, current, browser, address, created_date }) {
  const since = new Date(created_date).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const place = create('div', {}, browser ?? 'unknown browser');
  place.append(
    create('div', { className: 'quiet', textContent: [address, `since ${since}`].filter(Boolean).join(', ') }),
  );
  if (current)
    return create(
      'li',
      { className: 'row' },
      place,
      create('span', { className: 'quiet', textContent: 'this session' }),
    );
  const button = create('button', { className: 'small', type: 'button', textContent: 'End' });
  button.setAttribute('aria-label', `End the session in ${browser ?? 'unknown browser'} since ${since}`);
  onClick(button, find('sessions-error'), () => endSessions(`/api/auth/sessions/${id}`));
  return create('li', { className: 'row' }, place, button);
}

async function endSessions(path) {
  const { error } = await request('DELETE', path);
  await showSessions();
  return error;
}

onClick(find('end-others'), find('sessions-error'), () => endSessions('/api/auth/sessions'));

onClick(find('sign-out'), find('sign-out-error'), async () => {
  const { status, error } = await request('POST', '/api/auth/sign-out');
  if (error !== undefined && status !== 401) return error; // 401: the session has ended already
  location.assign('/');
});

// Signed out, the fragment chooses the form. Signed in, it only scrolls.
window.addEventListener('hashchange', () => {
  if (find('home').hidden) startPage(start);
});
startPage(start);
