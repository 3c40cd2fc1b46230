// Owns the page that an invitation's link opens: the invitation, a form for a new account, a sign-in for an existing one,
// and a confirmation. The page itself contains no data; its script calls the API.
import { renderPage } from '../../../kit/http/page.ts';

const script = `
const find = (id) => document.getElementById(id);
const token = location.pathname.split('/').pop();
const sections = ['loading', 'create-account', 'accept', 'other-account', 'sign-in', 'joined', 'failed'];
const show = (...shown) => { for (const section of sections) find(section).hidden = !shown.includes(section); };
const fill = (name, text) => { for (const element of document.querySelectorAll('[data-fill=' + name + ']')) element.textContent = text; };
const showError = (text) => { find('error').textContent = text; };
const errorText = (problem) => Array.isArray(problem.detail)
  ? problem.detail.map(({ loc, msg }) => 'The ' + String(loc[loc.length - 1]).replaceAll('_', ' ') + ' ' + msg + '.').join(' ')
  : problem.detail;
async function request(path, input) {
  const response = await fetch(path, input && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) });
  return { ok: response.ok, body: await response.json() };
}
const getMe = async () => { const { ok, body } = await request('/api/auth/me'); return ok ? body : undefined; };

async function start() {
  const { ok, body } = await request('/api/invitations/' + token);
  if (!ok) { fill('reason', body.detail); return show('failed'); }
  fill('workspace', body.workspace_name);
  fill('email', body.email);
  fill('role', (/^[aeiou]/.test(body.role) ? 'an ' : 'a ') + body.role);
  fill('expires', new Date(body.expires_at).toLocaleDateString(undefined, { dateStyle: 'long' }));
  document.title = 'Join ' + body.workspace_name;
  find('heading').hidden = false;
  const me = await getMe();
  fill('me', me ? me.user.email : '');
  if (me) return show(me.user.email === body.email ? 'accept' : 'other-account');
  fill('account', body.needs_account === null ? 'Or do you have an account?' : 'You already have an account.');
  if (body.needs_account === null) return show('create-account', 'sign-in');
  show(body.needs_account ? 'create-account' : 'sign-in');
}

async function accept(input) {
  const { ok, body } = await request('/api/invitations/' + token + '/accept', input);
  if (!ok) return showError(errorText(body));
  const me = await getMe();
  fill('name', me.user.full_name);
  fill('me', me.user.email);
  fill('workspace', body.workspace.name);
  fill('role', (/^[aeiou]/.test(body.workspace.role) ? 'an ' : 'a ') + body.workspace.role);
  find('workspaces').replaceChildren(...me.workspaces.map(({ name, role }) => {
    const item = document.createElement('li');
    item.append(name, Object.assign(document.createElement('span'), { textContent: role }));
    return item;
  }));
  find('heading').hidden = true;
  document.title = body.workspace.name;
  show('joined');
}

function onSubmit(id, handle) {
  find(id).addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = event.target.querySelector('button');
    button.disabled = true;
    showError('');
    try { await handle(new FormData(event.target)); }
    catch { showError('The request failed. Check your connection and try again.'); }
    button.disabled = false;
  });
}
onSubmit('create-account', (form) => accept({ full_name: form.get('full_name'), password: form.get('password') }));
onSubmit('accept', () => accept({}));
onSubmit('sign-in', async (form) => {
  const { ok, body } = await request('/api/auth/sign-in', { email: document.querySelector('[data-fill=email]').textContent, password: form.get('password') });
  return ok ? accept({}) : showError(errorText(body));
});
onSubmit('other-account', async () => { await request('/api/auth/sign-out', {}); await start(); });
start().catch(() => { fill('reason', 'The invitation could not be loaded. Try again later.'); show('failed'); });
`;

const style = `
:root { color-scheme: light }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #eef1f6; display: grid; place-items: center; min-height: 100vh; margin: 0; padding: 1rem }
main { background: #fff; padding: 2.25rem 2.5rem 2rem; border-radius: 14px; box-shadow: 0 1px 2px #1c243014, 0 8px 28px #1c24301a; width: min(27rem, 100%) }
.brand { font-weight: 650; letter-spacing: .02em; color: #2451b3; margin: 0 0 1.5rem }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
.quiet { color: #5b6675; font-size: .925rem }
form, section { margin-top: 1.25rem }
[hidden] { display: none }
label { display: block; font-weight: 550; font-size: .925rem; margin: 0 0 .25rem }
input { font: inherit; width: 100%; padding: .55rem .75rem; border: 1px solid #b8c0cc; border-radius: 8px; margin-bottom: 1rem; background: #fff }
input:focus-visible, button:focus-visible { outline: 2px solid #2451b3; outline-offset: 2px }
button { font: inherit; font-weight: 550; width: 100%; padding: .65rem 1.25rem; border: 0; border-radius: 8px; background: #2451b3; color: #fff; cursor: pointer }
button:hover { background: #1d4393 }
button:disabled { opacity: .6; cursor: default }
output { display: block; margin-top: 1rem; color: #a3261e }
output:empty { display: none }
ul { list-style: none; margin: .5rem 0 0; padding: 0; border-top: 1px solid #e3e7ee }
li { display: flex; justify-content: space-between; gap: 1rem; padding: .6rem 0; border-bottom: 1px solid #e3e7ee; overflow-wrap: anywhere }
li span { color: #5b6675 }
.tick { display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: 50%; background: #e3f3e8; color: #1c7a3d; font-size: 1.25rem; margin: 0 0 1rem }
`;

export const invitationPage = renderPage({
  title: 'Invitation',
  style,
  script,
  main: `
    <p class="brand">Plinth</p>
    <div id="heading" hidden>
      <h1>Join <span data-fill="workspace"></span></h1>
      <p><b data-fill="email"></b> is invited to this workspace as <span data-fill="role"></span>.</p>
      <p class="quiet">The invitation expires on <span data-fill="expires"></span>.</p>
    </div>
    <p id="loading" class="quiet">Loading the invitation…</p>
    <form id="create-account" hidden>
      <label for="full_name">Your name</label>
      <input id="full_name" name="full_name" maxlength="200" autocomplete="name" required>
      <label for="password">Password, at least 12 characters</label>
      <input id="password" name="password" type="password" minlength="12" maxlength="256" autocomplete="new-password" required>
      <button>Create account and join</button>
    </form>
    <form id="accept" hidden>
      <p>You are signed in as <b data-fill="me"></b>.</p>
      <button>Accept invitation</button>
    </form>
    <form id="sign-in" hidden>
      <p><span data-fill="account"></span> Sign in to accept.</p>
      <label for="known_password">Your password</label>
      <input id="known_password" name="password" type="password" autocomplete="current-password" required>
      <button>Sign in and join</button>
    </form>
    <form id="other-account" hidden>
      <p>You are signed in as <b data-fill="me"></b>, and this invitation is for another account.</p>
      <button>Sign out and continue</button>
    </form>
    <section id="joined" hidden>
      <p class="tick" aria-hidden="true">✓</p>
      <h1>You are now a member of <span data-fill="workspace"></span></h1>
      <p>Welcome, <b data-fill="name"></b>. You are signed in as <span data-fill="me"></span>, and you are <span data-fill="role"></span> here.</p>
      <p class="quiet">Your workspaces</p>
      <ul id="workspaces"></ul>
    </section>
    <section id="failed" hidden>
      <h1>This invitation can't be used</h1>
      <p data-fill="reason"></p>
    </section>
    <output id="error" role="status"></output>
    <noscript><p>This page needs JavaScript.</p></noscript>
  `,
});
