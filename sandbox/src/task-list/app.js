// The task list. Everybody sees and changes their own tasks: the rules of the entity Task see to that, on the server.
import { entities } from '/_plinth/client.js';
import { run, say, sayError, startSignIn } from '/sign-in.js';

const form = document.querySelector('[data-add]');
const list = document.querySelector('[data-tasks]');
const summary = document.querySelector('[data-summary]');
const empty = document.querySelector('[data-empty]');
const template = document.querySelector('#task-template');

/** The tasks of the person, as the server has them. */
let tasks = [];
/** Counts the people who were signed in, so an answer that comes late is not shown to somebody else. */
let turn = 0;

startSignIn((user) => {
  turn += 1;
  tasks = [];
  list.replaceChildren();
  empty.hidden = true;
  summary.textContent = '';
  if (user !== null) void load(turn);
});

async function load(turnOfLoad) {
  summary.textContent = 'Loading…';
  try {
    const { items, has_more } = await entities.Task.list({ sort: 'done,-created_date', limit: 200 });
    if (turnOfLoad !== turn) return;
    tasks = items;
    list.replaceChildren(...tasks.map(toItem));
    summarize();
    if (has_more) say('Only the first 200 tasks are shown.');
  } catch (error) {
    summary.textContent = '';
    sayError(error);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const { title } = form.elements;
  void run(form.querySelector('button'), async () => {
    const task = await entities.Task.create({ title: title.value.trim() });
    tasks.unshift(task);
    list.prepend(toItem(task));
    form.reset();
    title.focus();
    summarize();
  });
});

function toItem(task) {
  const item = template.content.firstElementChild.cloneNode(true);
  const check = item.querySelector('input');
  const remove = item.querySelector('button');
  item.querySelector('[data-title]').textContent = task.title;
  check.checked = task.done;
  check.addEventListener('change', () =>
    run(check, async () => {
      try {
        Object.assign(task, await entities.Task.update(task.id, { done: check.checked }));
      } finally {
        check.checked = task.done; // as it was, if it could not be saved
      }
      summarize();
    }),
  );
  remove.setAttribute('aria-label', `Delete: ${task.title}`);
  remove.addEventListener('click', () =>
    run(remove, async () => {
      await entities.Task.delete(task.id);
      const next = item.nextElementSibling ?? item.previousElementSibling;
      tasks = tasks.filter((other) => other !== task);
      item.remove();
      (next?.querySelector('button') ?? form.elements.title).focus();
      summarize();
    }),
  );
  return item;
}

function summarize() {
  const open = tasks.filter((task) => !task.done).length;
  empty.hidden = tasks.length > 0;
  summary.textContent = tasks.length === 0 ? '' : `${open} of ${tasks.length} to do`;
}
