// Signing in and out: shows the forms of index.html, and the app once somebody is signed in. Works as it is.
import { app, auth } from '/_plinth/client.js';

const forms = [...document.querySelectorAll('[data-form]')];
const notice = document.querySelector('[data-notice]');

/** Says something to the person, also to one who uses a screen reader. An empty text says nothing. */
export function say(text, kind = 'info') {
  notice.dataset.kind = kind;
  notice.textContent = text;
}

/** Says why something failed. */
export function sayError(error) {
  if (error?.name !== 'PlinthError') console.error(error);
  say(error?.name === 'PlinthError' ? error.message : 'Something went wrong. Reload the page.', 'error');
}

/** Runs `work` while the button can't be pressed a second time, and says why if it fails. */
export async function run(button, work) {
  const hadFocus = document.activeElement === button;
  say('');
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    sayError(error);
  } finally {
    button.disabled = false;
    if (hadFocus && document.activeElement === document.body) button.focus(); // disabled, it lost the focus
  }
}

const firstForm = () => (app.methods.password ? 'sign-in' : 'link');

/** Shows only the ways in that work: who may create an account is a setting of the app. */
function showWaysIn() {
  const { sign_up, mail, methods } = app;
  const works = {
    'sign-up': sign_up !== 'closed',
    link: mail && (methods.link || methods.password),
    'sign-in': methods.password,
  };
  for (const button of document.querySelectorAll('[data-show]')) {
    button.hidden = works[button.dataset.show] === false; // other forms of the app stay as they are
    if (button.dataset.show === 'link' && !methods.link) button.textContent = 'Set a new password by e-mail';
  }
  showForm(firstForm());
  for (const hint of document.querySelectorAll('[data-if-sign-up]')) hint.hidden = hint.dataset.ifSignUp !== sign_up;
}

/** Calls `show` with the user who is signed in, or with null, now and whenever that changes. */
export function startSignIn(show) {
  showWaysIn();
  for (const form of forms)
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void run(form.querySelector('[type="submit"]'), () => submit(form));
    });
  for (const button of document.querySelectorAll('[data-show]'))
    button.addEventListener('click', () => {
      say('');
      showForm(button.dataset.show);
    });
  document.querySelector('[data-action="sign-out"]').addEventListener('click', () => void auth.signOut());
  addEventListener('hashchange', () => void openLink()); // a link of a mail that is opened in this tab
  auth.onChange((user) => {
    for (const element of document.querySelectorAll('[data-for]'))
      element.hidden = (element.dataset.for === 'signed-in') !== (user !== null);
    document.querySelector('[data-user]').textContent = user === null ? '' : user.full_name || user.email;
    if (user !== null) {
      say('');
      showForm(firstForm()); // for when they sign out
    }
    show(user);
  });
  void openLink();
}

async function openLink() {
  if (!auth.hasLink()) return;
  try {
    await auth.useLink();
  } catch (error) {
    if (error.code === 'validation')
      showForm('password'); // this app asks for a password
    else sayError(error);
  }
}

async function submit(form) {
  const { email, password, full_name } = Object.fromEntries(new FormData(form));
  switch (form.dataset.form) {
    case 'sign-in':
      await auth.signIn({ email, password });
      break;
    case 'sign-up':
      await auth.signUp({ email, password, ...(full_name && { full_name }) });
      showSent(email, app.sign_up === 'invited' ? 'If you were added to this app, a' : 'A');
      break;
    case 'link':
      await auth.requestLink({ email });
      showSent(email, 'If you have an account here, a');
      break;
    case 'password':
      await auth.useLink({ password });
      break;
  }
  form.reset();
}

/** Where a stand-in keeps all mails, the page leads to them. */
function showInbox() {
  const inbox = document.querySelector('[data-inbox]');
  if (inbox === null || app.mail_inbox === undefined) return;
  inbox.querySelector('a').href = app.mail_inbox;
  inbox.hidden = false;
}

/** Replaces the form by what comes next. The server never says whether somebody has an account. */
function showSent(email, whether) {
  showInbox();
  showForm('sent');
  document.querySelector('[data-sent]').textContent =
    `${whether} mail should reach ${email} in a few minutes. Open the link in it.`;
  document.querySelector('[data-form="sent"] h1').focus();
}

function showForm(name) {
  for (const form of forms) form.hidden = form.dataset.form !== name;
  forms
    .find((form) => !form.hidden)
    ?.querySelector('input')
    ?.focus();
}
