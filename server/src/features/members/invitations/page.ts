// The page that an invitation's link opens. It shows the invitation, a form for a new account or a sign-in for an
// existing one, and a confirmation. The token is in the URL's fragment, which browsers do not send, so no server or
// proxy logs it.
import { readPart, renderPage } from '../../../kit/http/page/page.ts';

export const invitationPage = renderPage({
  title: 'Invitation',
  scripts: [readPart('page.browser.js', import.meta.url)],
  main: `
    <div id="heading" data-section hidden>
      <h1 data-fill="title"></h1>
      <p><b data-fill="email"></b> has been invited to <span data-fill="place"></span><span data-fill="inviter"></span>.</p>
      <p class="quiet">The invitation expires on <span data-fill="expires"></span>.</p>
    </div>
    <form id="create-account" data-section hidden>
      <label for="full_name">Your name</label>
      <input id="full_name" name="full_name" maxlength="200" autocomplete="name" required>
      <label for="password">Password, at least 12 characters</label>
      <input id="password" name="password" type="password" minlength="12" maxlength="256" autocomplete="new-password" required>
      <button>Create account and join</button>
    </form>
    <form id="accept" data-section hidden>
      <p>You are signed in as <b data-fill="me"></b>.</p>
      <button>Accept invitation</button>
    </form>
    <form id="sign-in" data-section hidden>
      <p><span data-fill="account"></span> Sign in to accept.</p>
      <label for="known_password">Your password</label>
      <input id="known_password" name="password" type="password" autocomplete="current-password" required>
      <button>Sign in and join</button>
    </form>
    <form id="other-account" data-section hidden>
      <p>You are signed in as <b data-fill="me"></b>, but this invitation is for another account.</p>
      <button>Sign out and continue</button>
    </form>
    <section id="joined" data-section hidden>
      <p class="tick" aria-hidden="true">✓</p>
      <h1 data-fill="joined"></h1>
      <p>Welcome, <b data-fill="name"></b>. You are signed in as <span data-fill="me"></span>, and you are <span data-fill="role"></span> here.</p>
      <a class="button" href="/">Continue</a>
    </section>
    <section id="already-member" data-section hidden>
      <p class="tick" aria-hidden="true">✓</p>
      <h1>You are already a member of <span data-fill="workspace"></span></h1>
      <p>This invitation was accepted by <b data-fill="email"></b>.</p>
      <a class="button" href="/">Continue</a>
    </section>
    <section id="accepted-by-other" data-section hidden>
      <h1>This invitation was already accepted</h1>
      <p><b data-fill="email"></b> is a member of <span data-fill="workspace"></span>. You are signed in as <b data-fill="me"></b>.</p>
      <a class="button" href="/">Continue</a>
    </section>
    <section id="unusable" data-section hidden>
      <h1>This invitation can't be used</h1>
      <p data-fill="reason"></p>
      <a class="button" href="/">Go to the start page</a>
    </section>`,
});
