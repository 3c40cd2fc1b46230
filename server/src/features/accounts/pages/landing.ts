// The page at `/`, for setup and sign-in. It shows signed-in people their next steps, their published apps,
// their tokens and their sessions.
import { readPart, renderPage } from '../../../kit/http/page/page.ts';

const signedOut = `
    <form id="set-up" data-section hidden>
      <h1>Set up this installation</h1>
      <p>Create the first user and workspace. The setup token is in the API's log.</p>
      <label for="setup_token">Setup token</label>
      <input id="setup_token" name="setup_token" maxlength="256" autocomplete="off" required>
      <label for="workspace_name">Workspace name</label>
      <input id="workspace_name" name="workspace_name" maxlength="100" autocomplete="organization" required>
      <label for="full_name">Your name</label>
      <input id="full_name" name="full_name" maxlength="200" autocomplete="name" required>
      <label for="setup_email">Your e-mail address</label>
      <input id="setup_email" name="email" type="email" maxlength="254" autocomplete="username" required>
      <label for="setup_password">Password, at least 12 characters</label>
      <input id="setup_password" name="password" type="password" minlength="12" maxlength="256" autocomplete="new-password" required>
      <button>Set up</button>
    </form>
    <form id="sign-in" data-section hidden>
      <h1>Sign in</h1>
      <label for="email">E-mail address</label>
      <input id="email" name="email" type="email" maxlength="320" autocomplete="username" required>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" maxlength="1024" autocomplete="current-password" required>
      <p><a href="#forgot-password">Forgot your password?</a></p>
      <button>Sign in</button>
    </form>
    <form id="forgot-password" data-section hidden>
      <h1>Reset your password</h1>
      <p>We'll send you a link to set a new password. It works for one hour.</p>
      <label for="forgot_email">E-mail address</label>
      <input id="forgot_email" name="email" type="email" maxlength="254" autocomplete="username" required>
      <button>Send link</button>
      <p><a href="#">Back to sign-in</a></p>
    </form>
    <section id="link-sent" data-section hidden>
      <h1>Check your inbox</h1>
      <p>If <b data-fill="forgot-email"></b> has an account, an e-mail with a link will arrive in a few minutes.</p>
      <p id="mail-inbox" hidden>This installation keeps mails instead of delivering them. <a id="inbox-link" target="_blank" rel="noreferrer">Open the inbox</a></p>
      <p id="mail-waits" hidden>No worker is running at the moment, so the e-mail won't be sent until an operator starts one.</p>
      <p><a href="#">Back to sign-in</a></p>
    </section>
    <section id="no-mail" data-section hidden>
      <h1>Reset your password</h1>
      <p>This installation doesn't send e-mail. Ask an operator to run <code>plinth user reset --user YOUR-ADDRESS</code> and send you the link.</p>
      <p><a href="#">Back to sign-in</a></p>
    </section>`;

const signedIn = `
    <section id="home" class="wide" data-section hidden>
      <h1>Welcome, <span data-fill="name"></span></h1>
      <p id="password-set" class="notice" hidden>Your password is set.</p>
      <div class="row">
        <p class="quiet">You are signed in as <span data-fill="email"></span>.</p>
        <button id="sign-out" class="small" type="button">Sign out</button>
      </div>
      <p id="sign-out-error" class="error" role="alert"></p>
      <section aria-labelledby="next-heading">
        <h2 id="next-heading">What to do next</h2>
        <ol>
          <li><a href="#token-heading">Create a token</a>. Programs send it with every request.</li>
          <li>Make your first call:
            <pre id="example"></pre></li>
          <li>Find the operations you need in the <a href="/docs">API reference</a>.</li>
        </ol>
      </section>
      <section aria-labelledby="workspaces-heading">
        <h2 id="workspaces-heading">Your workspaces</h2>
        <p id="no-workspaces" hidden>You aren't a member of any workspace. Ask a workspace admin for an invitation.</p>
        <ul id="workspaces"></ul>
      </section>
      <section id="apps" aria-labelledby="apps-heading" hidden>
        <h2 id="apps-heading">Published apps</h2>
        <ul id="app-list"></ul>
        <p id="more-apps" class="quiet" hidden>These are the published apps among the newest 100 of each workspace.</p>
        <p id="apps-error" class="error" role="alert"></p>
      </section>
      <section id="tokens" aria-labelledby="token-heading">
        <h2 id="token-heading">Create a token</h2>
        <form id="create-token">
          <div class="fields">
            <div>
              <label for="token_name">Name</label>
              <input id="token_name" name="name" maxlength="100" autocomplete="off" placeholder="build server" required>
            </div>
            <div>
              <label for="token_workspace">Workspace</label>
              <select id="token_workspace" name="workspace"></select>
            </div>
            <div>
              <label for="token_permission">What is it for?</label>
              <select id="token_permission" name="permission" required>
                <option value="">Choose…</option>
                <option value="full_access">Building apps, changing things (full access)</option>
                <option value="read_only">Only reading (read-only)</option>
              </select>
            </div>
            <div>
              <label for="token_days">Valid for</label>
              <select id="token_days" name="days">
                <option value="30">30 days</option>
                <option value="90" selected>90 days</option>
                <option value="365">365 days</option>
              </select>
            </div>
          </div>
          <button>Create token</button>
        </form>
        <div id="new-token" class="notice" role="status" hidden>
          <div class="row">
            <p><b>Save this token now.</b> It won't be shown again.</p>
            <button id="copy-token" class="small" type="button">Copy</button>
          </div>
          <pre id="token-text"></pre>
          <p>The <a href="#next-heading">first call</a> above uses it.</p>
          <p id="copy-error" class="error" role="alert"></p>
        </div>
      </section>
      <section aria-labelledby="tokens-heading">
        <h2 id="tokens-heading">Your tokens</h2>
        <p id="no-tokens" class="quiet" hidden>You have no tokens.</p>
        <ul id="token-list" aria-labelledby="tokens-heading"></ul>
        <p id="tokens-error" class="error" role="alert"></p>
      </section>
      <section id="sessions" aria-labelledby="sessions-heading">
        <h2 id="sessions-heading">Your sessions</h2>
        <p class="quiet">The browsers where you're signed in.</p>
        <ul id="session-list"></ul>
        <button id="end-others" class="small" type="button">End all other sessions</button>
        <p id="sessions-error" class="error" role="alert"></p>
      </section>
    </section>`;

const withoutConsole = `
    <p class="quiet">The console is not served here. To build it, an operator runs <code>npm run build</code> and restarts the API.</p>`;

export const landingPage = renderPage({
  title: 'Plinth',
  main: signedOut + signedIn + withoutConsole,
  footer: '<a href="/docs">API reference</a> <a href="/openapi.json">OpenAPI document</a>',
  scripts: [readPart('landing.browser.js', import.meta.url)],
});
