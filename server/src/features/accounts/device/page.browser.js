// The script of the page on which a person approves a program.
const { create, fill, find, getMe, onClick, onSubmit, request, show, startPage } = window.page;

const permissions = { read_only: 'Only read', full_access: 'Read and change' };
const maxNamed = 10;

let workspaces = [];
let path = '';

async function start() {
  const me = await getMe();
  if (me === undefined) return show('sign-in');
  workspaces = me.workspaces;
  fill('me', me.user.email);
  show(workspaces.length === 0 ? 'no-workspace' : 'enter-code');
}

onSubmit('sign-in', async (input) => {
  const { error } = await request('POST', '/api/auth/sign-in', input);
  if (error !== undefined) return error;
  find('sign-in').reset();
  return start();
});

onSubmit('enter-code', async ({ user_code }) => {
  path = `/api/auth/device/${encodeURIComponent(user_code)}`;
  const { status, body, error } = await request('GET', path);
  if (status === 404)
    return 'No program is waiting with this code. Check it, or start the login again: a code is valid for ten minutes.';
  if (error !== undefined) return error;
  const apps = await describeApps(body.app_ids);
  find('enter-code').reset();
  showLogin(body, apps);
});

/** The names of the apps that the program asks for. */
async function describeApps(ids) {
  if (ids === null) return 'All that you can see';
  const answers = await Promise.all(
    ids.slice(0, maxNamed).map((id) => request('GET', `/api/apps/${encodeURIComponent(id)}`)),
  );
  const names = answers.map(({ body, error }) => (error === undefined ? body.name : "one that you can't see"));
  return ids.length > maxNamed ? `${names.join(', ')} and ${ids.length - maxNamed} more` : names.join(', ');
}

function showLogin({ client_name, address, requested_at, permission }, apps) {
  fill('client', client_name);
  fill('address', address);
  fill('requested', new Date(requested_at).toLocaleTimeString(undefined, { timeStyle: 'short' }));
  fill('apps', apps);
  setOptions(
    'workspace',
    workspaces.map(({ id, name }) => [id, name]),
  );
  const granted = permission === 'read_only' ? ['read_only'] : ['full_access', 'read_only'];
  setOptions(
    'permission',
    granted.map((each) => [each, permissions[each]]),
  );
  show('decide');
}

function setOptions(id, options) {
  find(id).replaceChildren(...options.map(([value, textContent]) => create('option', { value, textContent })));
}

async function answer(body, outcome) {
  const workspace = find('workspace').value;
  const { body: problem, error } = await request('POST', `${path}/answer?workspaceId=${workspace}`, body);
  if (problem.code === 'device_login_not_found')
    return 'This code has expired, was denied, or its token was already fetched. You can see and revoke your tokens on the start page.';
  if (error !== undefined) return error;
  show(outcome);
}

onSubmit('decide', ({ permission, days }) =>
  answer({ approve: true, permission, expires_in_days: Number(days) }, 'approved'),
);
onClick(find('deny'), find('deny-error'), () => answer({ approve: false }, 'denied'));

startPage(start);
