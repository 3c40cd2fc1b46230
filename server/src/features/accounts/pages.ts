// Owns the page on which a user sets a new password, opened by the link in the reset mail. The token is in the URL's
// fragment, which browsers do not send, so no server or proxy logs it.
import { renderPage } from '../../kit/http/page.ts';

const script = `
const form = document.querySelector('form');
const output = document.querySelector('output');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ reset_token: location.hash.slice(1), new_password: form.password.value });
  const response = await fetch('/api/auth/password/reset', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const result = await response.json();
  if (response.ok) form.hidden = true;
  output.textContent = response.ok ? 'Your new password is set. You can now sign in.' : result.detail?.[0]?.msg ? 'The password ' + result.detail[0].msg + '.' : result.detail;
});
`;

const style = `
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #f4f5f7; display: grid; place-items: center; min-height: 100vh; margin: 0 }
main { background: #fff; padding: 2rem 2.5rem; border-radius: 12px; box-shadow: 0 1px 4px #0002; width: min(24rem, 80vw) }
h1 { font-size: 1.25rem; margin: 0 0 1rem }
label { display: block; margin-bottom: .25rem }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem; border: 1px solid #b8c0cc; border-radius: 8px }
button { font: inherit; margin-top: 1rem; padding: .5rem 1.25rem; border: 0; border-radius: 8px; background: #2451b3; color: #fff }
output { display: block; margin-top: 1rem }
`;

export const resetPasswordPage = renderPage({
  title: 'Set a new password',
  style,
  script,
  main: `
    <h1>Set a new password</h1>
    <form>
      <label for="password">New password (at least 12 characters)</label>
      <input id="password" name="password" type="password" minlength="12" maxlength="256" autocomplete="new-password" required>
      <button>Set password</button>
    </form>
    <output role="status"></output>
  `,
});
