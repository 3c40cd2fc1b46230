// The session page that `session_url` points to. It shows the session's state, its growing log, any open question and
// the pull request, and lets the person who launched the session answer and send messages. Its content comes from an
// agent and a repository, so the scripts insert it as text and never as HTML.
import { readPart, renderPage } from '../../kit/http/page/page.ts';

export const sessionPage = renderPage({
  title: 'Coding session',
  scripts: ['question.browser.js', 'actions.browser.js', 'page.browser.js'].map((file) =>
    readPart(file, import.meta.url),
  ),
  main: `
    <form id="sign-in" data-section hidden>
      <h1>Sign in to see this session</h1>
      <p class="notice wait" data-fill="sign-in-reason"></p>
      <label for="email">E-mail address</label>
      <input id="email" name="email" type="email" maxlength="320" autocomplete="username" required>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" maxlength="1024" autocomplete="current-password" required>
      <button>Sign in</button>
      <p><a href="/#forgot-password">Forgot your password?</a></p>
    </form>
    <section id="missing" data-section hidden>
      <h1>Session not found</h1>
      <p data-fill="missing"></p>
      <a class="button" href="/">Go to the start page</a>
    </section>
    <section id="session" class="wide" data-section hidden>
      <p class="quiet">Coding session</p>
      <h1 data-fill="heading"></h1>
      <div class="row">
        <p role="status"><span id="badge" class="badge" data-fill="state"></span></p>
        <button id="cancel" class="small" type="button" aria-label="Cancel session" hidden>Cancel</button>
      </div>
      <p class="explanation" role="status" data-fill="explanation"></p>
      <p id="outcome" class="notice" tabindex="-1"></p>
      <section id="input-request" aria-labelledby="input-request-heading" hidden>
        <h2 id="input-request-heading" tabindex="-1"></h2>
        <form id="answer-form" class="flush" novalidate></form>
        <p id="answer-sending" class="quiet note" role="status"></p>
        <p id="answer-error" class="error" role="alert"></p>
        <p id="answer-note" class="quiet note"></p>
      </section>
      <dl class="facts">
        <div id="pull-request" hidden>
          <dt>Pull request</dt>
          <dd><a id="pull-request-link" rel="noopener noreferrer"></a> <span class="quiet" data-fill="pull-request-state"></span></dd>
        </div>
        <div><dt>Repository</dt><dd data-fill="repository"></dd></div>
        <div id="branch" hidden><dt>Branch</dt><dd><code data-fill="branch"></code></dd></div>
        <div id="launched-by" hidden><dt>Launched by</dt><dd data-fill="launched-by"></dd></div>
        <div id="error-code" hidden><dt>Error code</dt><dd><code data-fill="error-code"></code></dd></div>
        <div id="reference" hidden><dt>Reference</dt><dd data-fill="reference"></dd></div>
      </dl>
      <section id="answered" aria-labelledby="answered-heading" hidden>
        <h2 id="answered-heading">Answered questions</h2>
        <ul id="answered-list"></ul>
      </section>
      <section id="kept" aria-labelledby="kept-heading" hidden>
        <h2 id="kept-heading">What was kept</h2>
        <p data-fill="kept"></p>
      </section>
      <section id="summary" aria-labelledby="summary-heading" hidden>
        <h2 id="summary-heading">Summary</h2>
        <p id="summary-text" class="written"></p>
      </section>
      <section id="message" aria-labelledby="message-heading" hidden>
        <h2 id="message-heading" data-fill="message-heading"></h2>
        <p id="message-hint" class="quiet" data-fill="message-hint"></p>
        <form id="message-form" class="flush" novalidate>
          <fieldset>
            <label for="message-text">Message</label>
            <textarea id="message-text" rows="3" maxlength="99611" aria-describedby="message-hint"></textarea>
            <button class="secondary">Send message</button>
          </fieldset>
        </form>
        <p id="message-sending" class="quiet note" role="status"></p>
        <p id="message-error" class="error" role="alert"></p>
      </section>
      <section aria-labelledby="log-heading">
        <h2 id="log-heading">Log</h2>
        <p id="no-log" class="quiet" data-fill="no-log"></p>
        <p id="log-is-cut" class="quiet" hidden>Earlier lines are not shown here.</p>
        <div id="log" class="log" role="log" aria-labelledby="log-heading" tabindex="0" hidden></div>
        <p id="connection" class="quiet" role="status"></p>
      </section>
      <dialog id="cancel-dialog" aria-labelledby="cancel-heading">
        <form id="cancel-form" class="flush">
          <h2 id="cancel-heading">Cancel this session?</h2>
          <p>The agent stops. What it has pushed stays, and a message can continue the session later.</p>
          <fieldset class="buttons">
            <button>Cancel session</button>
            <button id="keep-running" class="secondary" type="button" autofocus>Let it continue</button>
          </fieldset>
          <p id="cancel-sending" class="quiet note" role="status"></p>
          <p id="cancel-error" class="error" role="alert"></p>
        </form>
      </dialog>
    </section>`,
});
