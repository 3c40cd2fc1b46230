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
  find('password-set').hidden = location.hash !== '#password-set';
  show('sign-in');
}

async function showForgotPassword() {
  const { body } = await request('GET', '/api/info');
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

async function showHome({ user, workspaces }) {
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
  await showSessions();
  show('home');
  if (location.hash === '#sessions') find('sessions').scrollIntoView();
}

const showExample = (token) => {
  find('example').textContent = `curl -H "Authorization: Bearer ${token}" ${location.origin}/api/apps`;
};

onSubmit('create-token', async ({ name, workspace, permission, days }) => {
  const input = { name, permission, expires_in_days: Number(days) };
  const { body, error } = await request('POST', `/api/auth/tokens?workspaceId=${workspace}`, input);
  if (error !== undefined) return error;
  find('token-text').textContent = body.token;
  showExample(body.token);
  find('create-token').reset();
  find('copy-token').textContent = 'Copy';
  find('new-token').hidden = false;
});

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
    return create('li', { className: 'row' }, place, create('span', { className: 'quiet', textContent: 'this one' }));
  const button = create('button', { className: 'small', type: 'button', textContent: 'End' });
  button.setAttribute('aria-label', `End the session of ${browser ?? 'unknown browser'} since ${since}`);
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
