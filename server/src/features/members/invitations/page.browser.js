// The script of the page that an invitation's link opens.
const { fill, getMe, onSubmit, request, show, startPage, withArticle } = window.page;

/** Links that were sent before tokens moved to the fragment have it in the path. */
const findToken = () => location.hash.slice(1) || location.pathname.split('/')[2] || '';

let email = '';
let apps = '';

async function start() {
  const invitation_token = findToken();
  if (invitation_token === '') return showUnusable('The link is incomplete. Open the full link from the e-mail.');
  const { status, body, error } = await request('POST', '/api/invitations/open', { invitation_token });
  if (status === 404)
    return showUnusable(
      'This link was replaced by a newer one, or the invitation was cancelled. Open the most recent e-mail, or ask a workspace admin for a new invitation.',
    );
  if (status === 410) return showUnusable(error);
  if (error !== undefined) throw new Error(error);
  email = body.email;
  fill('email', email);
  fill('workspace', body.workspace_name);
  fill('expires', new Date(body.expires_at).toLocaleDateString(undefined, { dateStyle: 'long' }));
  fill('inviter', body.invited_by === null ? '' : ` by ${body.invited_by}`);
  // Guests are invited to apps, everybody else to the workspace.
  apps = body.role === 'guest' ? body.app_names.map((name) => `“${name}”`).join(', ') : '';
  const title = apps === '' ? `Join ${body.workspace_name}` : `Open ${apps}`;
  fill('title', title);
  fill('place', apps === '' ? `this workspace as ${withArticle(body.role)}` : `${apps} of ${body.workspace_name}`);
  document.title = title;
  showChoices(body, await getMe());
}

function showUnusable(reason) {
  fill('reason', reason);
  show('unusable');
}

/** Shows what the person can do: `me` is who is signed in, if anybody is. */
function showChoices({ accepted, needs_account }, me) {
  fill('me', me?.user.email ?? '');
  const isOther = me !== undefined && me.user.email !== email;
  if (accepted) return show(isOther ? 'accepted-by-other' : 'already-member');
  if (me !== undefined) return show('heading', isOther ? 'other-account' : 'accept');
  fill('account', needs_account === null ? 'Or do you have an account?' : 'You already have an account.');
  if (needs_account === null) return show('heading', 'create-account', 'sign-in');
  show('heading', needs_account ? 'create-account' : 'sign-in');
}

async function accept(input) {
  const { body, error } = await request('POST', '/api/invitations/accept', {
    ...input,
    invitation_token: findToken(),
  });
  if (error !== undefined) return error;
  fill('name', body.user.full_name);
  fill('me', body.user.email);
  fill('joined', apps === '' ? `You are now a member of ${body.workspace.name}` : `You can open ${apps} now`);
  fill('role', withArticle(body.workspace.role));
  document.title = body.workspace.name;
  beginIn(body.workspace.id);
  show('joined');
}

/** Lets the console begin in the workspace that was joined, and not in another one of the same person. */
function beginIn(workspace) {
  try {
    localStorage.setItem('plinth.workspace', JSON.stringify(workspace));
  } catch {
    // A browser that keeps nothing begins in the first workspace.
  }
}

onSubmit('create-account', ({ full_name, password }) => accept({ full_name, password }));
onSubmit('accept', () => accept({}));
onSubmit('sign-in', async ({ password }) => {
  const { error } = await request('POST', '/api/auth/sign-in', { email, password });
  return error ?? accept({});
});
onSubmit('other-account', async () => {
  const { error } = await request('POST', '/api/auth/sign-out');
  return error ?? start();
});

window.addEventListener('hashchange', () => startPage(start));
startPage(start);
