// Owns the page of a session, which `session_url` opens: its state, its log while it grows, an open question and the pull request.
// It only shows them. What is on it was written by an agent and by a repository, so the script uses it as text and never as HTML.
import { readPart, renderPage } from '../../kit/http/page.ts';

export const sessionPage = renderPage({
  title: 'Coding session',
  script: readPart('page.browser.js', import.meta.url),
  main: `
    <form id="sign-in" data-section hidden>
      <h1>Sign in to see this session</h1>
      <label for="email">E-mail address</label>
      <input id="email" name="email" type="email" maxlength="320" autocomplete="username" required>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" maxlength="1024" autocomplete="current-password" required>
      <button>Sign in</button>
      <p><a href="/#forgot-password">Forgot your password?</a></p>
    </form>
    <section id="missing" data-section hidden>
      <h1>There is no such session for you</h1>
      <p data-fill="missing"></p>
      <a class="button" href="/">Go to the start page</a>
    </section>
    <section id="session" class="wide" data-section hidden>
      <p class="quiet">Coding session</p>
      <h1 data-fill="heading"></h1>
      <p role="status"><span id="badge" class="badge" data-fill="state"></span></p>
      <p data-fill="explanation"></p>
      <dl class="facts">
        <div id="pull-request" hidden>
          <dt>Pull request</dt>
          <dd><a id="pull-request-link" rel="noopener noreferrer"></a> <span class="quiet" data-fill="pull-request-state"></span></dd>
        </div>
        <div><dt>Repository</dt><dd data-fill="repository"></dd></div>
        <div id="branch" hidden><dt>Branch</dt><dd><code data-fill="branch"></code></dd></div>
        <div id="error-code" hidden><dt>Error code</dt><dd><code data-fill="error-code"></code></dd></div>
        <div id="reference" hidden><dt>Reference</dt><dd data-fill="reference"></dd></div>
      </dl>
      <section id="input-request" aria-labelledby="input-request-heading" hidden>
        <h2 id="input-request-heading"></h2>
        <div id="input-request-parts"></div>
        <p class="quiet">This page only shows it. Whoever launched the session answers through the API, until <span data-fill="expires"></span>:</p>
        <pre id="answer-example"></pre>
      </section>
      <section id="kept" aria-labelledby="kept-heading" hidden>
        <h2 id="kept-heading">What was kept</h2>
        <p data-fill="kept"></p>
      </section>
      <section id="summary" aria-labelledby="summary-heading" hidden>
        <h2 id="summary-heading">Summary</h2>
        <p id="summary-text" class="written"></p>
      </section>
      <section aria-labelledby="log-heading">
        <h2 id="log-heading">Log</h2>
        <p id="no-log" class="quiet" data-fill="no-log"></p>
        <p id="log-is-cut" class="quiet" hidden>Earlier lines are not shown here.</p>
        <div id="log" class="log" role="log" aria-labelledby="log-heading" tabindex="0" hidden></div>
        <p id="connection" class="quiet" role="status"></p>
      </section>
    </section>`,
});
