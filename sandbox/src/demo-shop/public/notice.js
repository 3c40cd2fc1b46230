// What the shop says to the person, also to one who uses a screen reader.

const notice = document.querySelector('[data-notice]');

/** An empty text says nothing. */
export function say(text, kind = 'info') {
  notice.dataset.kind = kind;
  notice.textContent = text;
}

export function sayError(error) {
  if (error?.name !== 'PlinthError') throw error;
  say(error.message, 'error');
}

/** Runs `work` while the button can't be pressed a second time, and says why if it fails. */
export async function run(button, work) {
  say('');
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    sayError(error);
  } finally {
    button.disabled = false;
  }
}
