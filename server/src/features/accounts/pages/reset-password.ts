// The page where a user sets a new password, opened from the link in the reset e-mail. The token is in the URL's
// fragment, which browsers do not send, so no server or proxy logs it.
import { readPart, renderPage } from '../../../kit/http/page/page.ts';

export const resetPasswordPage = renderPage({
  title: 'Set a new password',
  scripts: [readPart('reset-password.browser.js', import.meta.url)],
  main: `
    <form id="set-password" data-section hidden>
      <h1>Set a new password</h1>
      <label for="password">New password, at least 12 characters</label>
      <input id="password" name="new_password" type="password" minlength="12" maxlength="256" autocomplete="new-password" required>
      <button>Set password</button>
    </form>
    <section id="unusable" data-section hidden>
      <h1>This link can't be used</h1>
      <p data-fill="reason"></p>
      <a class="button" href="/#forgot-password">Request a new link</a>
    </section>`,
});
