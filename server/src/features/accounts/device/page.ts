// The page on which a person approves a program. The code is typed and never part of an address, so nobody can send a
// link that only has to be confirmed.
import { readPart, renderPage } from '../../../kit/http/page/page.ts';

export const deviceLoginPage = renderPage({
  title: 'Log in a program',
  scripts: [readPart('page.browser.js', import.meta.url)],
  main: `
    <form id="sign-in" data-section hidden>
      <h1>Sign in to log in a program</h1>
      <label for="email">E-mail address</label>
      <input id="email" name="email" type="email" maxlength="320" autocomplete="username" required>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" maxlength="1024" autocomplete="current-password" required>
      <button>Sign in</button>
      <p><a href="/#forgot-password">Forgot your password?</a></p>
    </form>
    <form id="enter-code" data-section hidden>
      <h1>Log in a program</h1>
      <p>You are signed in as <b data-fill="me"></b>. Type the code that the program shows.</p>
      <label for="user_code">Code</label>
      <input id="user_code" name="user_code" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX" required>
      <button>Continue</button>
    </form>
    <form id="decide" data-section hidden>
      <h1>Let <span data-fill="client"></span> act as you?</h1>
      <p class="notice wait">Continue only if you started this program yourself a moment ago. If somebody sent you the code, deny it.</p>
      <dl class="facts">
        <div><dt>Program</dt><dd data-fill="client"></dd></div>
        <div><dt>Asked from</dt><dd><span data-fill="address"></span>, <span data-fill="requested"></span></dd></div>
        <div><dt>Apps</dt><dd data-fill="apps"></dd></div>
      </dl>
      <label for="workspace">Workspace</label>
      <select id="workspace" name="workspace"></select>
      <label for="permission">What may it do?</label>
      <select id="permission" name="permission"></select>
      <label for="days">Valid for</label>
      <select id="days" name="days">
        <option value="1">1 day</option>
        <option value="30">30 days</option>
        <option value="90" selected>90 days</option>
        <option value="365">365 days</option>
      </select>
      <div class="row">
        <button>Approve</button>
        <button id="deny" class="small" type="button">Deny</button>
      </div>
      <p id="deny-error" class="error" role="alert"></p>
    </form>
    <section id="approved" data-section hidden>
      <p class="tick" aria-hidden="true">✓</p>
      <h1>Approved</h1>
      <p>Return to <b data-fill="client"></b>, which continues within a few seconds. You can close this page, but stay signed in until it has continued.</p>
      <p>To take the access back, revoke the token <b data-fill="client"></b> on the <a href="/#tokens-heading">start page</a>.</p>
    </section>
    <section id="denied" data-section hidden>
      <h1>Denied</h1>
      <p><b data-fill="client"></b> got no access.</p>
    </section>
    <section id="no-workspace" data-section hidden>
      <h1>You aren't a member of any workspace</h1>
      <p>A program acts in a workspace. Ask a workspace admin for an invitation.</p>
    </section>`,
});
