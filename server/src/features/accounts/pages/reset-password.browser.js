// The script of the page that sets a new password.
const { fill, onSubmit, request, show } = window.page;

function showUnusable(reason) {
  fill('reason', reason);
  show('unusable');
}

function start() {
  if (location.hash.length > 1) show('set-password');
  else showUnusable('The link is incomplete. Open the full link from the e-mail.');
}

onSubmit('set-password', async ({ new_password }) => {
  const input = { reset_token: location.hash.slice(1), new_password };
  const { status, error } = await request('POST', '/api/auth/password/reset', input);
  if (status === 410) return showUnusable(error);
  if (error !== undefined) return error;
  location.assign(`${takeWayBack()}#password-set`);
});

/** The page on which the person asked for the link in this browser, if it was one of the console's. */
function takeWayBack() {
  try {
    const path = JSON.parse(localStorage.getItem('plinth.wayBack') ?? '""');
    localStorage.removeItem('plinth.wayBack');
    return /^\/(w|editor|account)\//.test(path) ? path : '/';
  } catch {
    return '/';
  }
}

window.addEventListener('hashchange', start);
start();
