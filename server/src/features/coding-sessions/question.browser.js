// Draws the open question or approval of a coding session, with buttons and fields for the person who may answer it.
const { create } = window.page;

/**
 * Returns the elements of a question, and the function that its form calls when it is submitted. That function returns
 * `{ answer, confirmation }`, or `{ error, field }` if something is missing. `onChoice` receives the former from a button
 * that answers by itself. Without `onChoice`, the question is drawn for reading only.
 */
function drawRequest({ approval, questions }, onChoice) {
  if (approval !== null) return drawApproval(approval, onChoice);
  if (onChoice === undefined) return { elements: questions.flatMap(drawForReading) };
  const [first, ...others] = questions;
  return others.length === 0 && !first.multi_select ? drawSingleChoice(first, onChoice) : drawSeveral(questions);
}

const drawForReading = ({ text, options }) => [
  createText(text),
  create('ul', {}, ...options.map((option) => create('li', {}, ...createLabel(option)))),
];

/** One question with one answer has a button for each option, and a field for another answer. */
function drawSingleChoice({ question_index, text, options, allow_custom_text }, onChoice) {
  const buttons = options.map((option) => {
    const answer = toAnswers([{ question_index, selected_label: option.label }]);
    const button = create('button', { className: 'option', type: 'button' }, ...createLabel(option));
    return onSingleClick(button, () => onChoice(answer));
  });
  if (!allow_custom_text) return { elements: [createText(text), ...buttons] };
  const field = createField(options.length === 0 ? 'Your answer' : 'Or answer in your own words');
  const send = create('button', { className: options.length === 0 ? '' : 'secondary', textContent: 'Send' });
  return {
    elements: [createText(text), ...buttons, ...field.elements, send],
    read: () => {
      const custom_text = field.read();
      if (custom_text === undefined) return { error: 'Write an answer first.', field: field.input };
      return toAnswers([{ question_index, custom_text }]);
    },
  };
}

/** Several questions, or one with several answers, are answered together. */
function drawSeveral(questions) {
  const parts = questions.map(drawPart);
  return {
    elements: [...parts.map(({ element }) => element), create('button', { textContent: 'Send' })],
    read: () => {
      const missing = parts.find(({ read }) => read() === undefined);
      if (missing !== undefined) return { error: `Answer this question first: ${missing.text}`, field: missing.field };
      return toAnswers(parts.map(({ read }) => read()));
    },
  };
}

function drawPart({ question_index, text, options, multi_select, allow_custom_text }) {
  const type = multi_select ? 'checkbox' : 'radio';
  const choices = options.map(({ label }) =>
    create('input', { type, name: `question-${question_index}`, value: label }),
  );
  const rows = choices.map((choice, n) =>
    create('label', { className: 'choice' }, choice, create('span', {}, ...createLabel(options[n]))),
  );
  const field = createField(options.length === 0 ? 'Your answer' : 'In your own words (optional)');
  const legend = create('legend', { className: 'written', textContent: text });
  const hint = multi_select ? [create('p', { className: 'quiet', textContent: 'You can choose more than one.' })] : [];
  const own = allow_custom_text ? field.elements : [];
  return {
    text,
    field: choices[0] ?? field.input,
    element: create('fieldset', {}, legend, ...hint, ...rows, ...own),
    read: () => {
      const labels = choices.filter(({ checked }) => checked).map(({ value }) => value);
      const custom_text = field.read();
      if (labels.length === 0 && custom_text === undefined) return undefined;
      const chosen = multi_select ? { selected_labels: labels } : { selected_label: labels[0] };
      return { question_index, ...(labels.length > 0 && chosen), custom_text };
    },
  };
}

const wishes = {
  run_command: 'The agent wants to run:',
  delete_files: 'The agent wants to delete:',
  plan: 'The plan:',
};

function drawApproval({ title, description, action, details }, onChoice) {
  const shown = [
    createText(description),
    create('p', { className: 'quiet', textContent: wishes[action] ?? action }),
    create('pre', { textContent: details }),
  ];
  if (onChoice === undefined) return { elements: shown };
  const field = createField('Reason or instructions (optional)');
  const createButton = (textContent, className, approve, confirmation) =>
    onSingleClick(create('button', { type: 'button', textContent, className }), () =>
      onChoice({ answer: { approve, text: field.read() }, confirmation }),
    );
  const buttons = [
    createButton('Approve', '', true, `You approved this: ${title}`),
    createButton('Deny', 'secondary', false, `You denied this: ${title}`),
  ];
  return { elements: [...shown, ...field.elements, create('div', { className: 'buttons' }, ...buttons)] };
}

// ---- parts of forms

const createText = (text) => create('p', { className: 'written', textContent: text });

const createLabel = ({ label, description }) => [
  create('b', { textContent: label }),
  create('span', { className: 'quiet', textContent: description }),
];

let fields = 0;

/** `read` returns undefined if the field is empty. */
function createField(text) {
  fields += 1;
  const id = `answer-field-${fields}`;
  const input = create('textarea', { id, rows: 2, maxLength: 4_000 });
  return {
    input,
    elements: [create('label', { htmlFor: id, textContent: text }), input],
    read: () => input.value.trim() || undefined,
  };
}

/** The second click of a double click is ignored, because it could answer the next question. */
function onSingleClick(button, handle) {
  button.addEventListener('click', ({ detail }) => {
    if (detail <= 1) handle();
  });
  return button;
}

const toAnswers = (answers) => ({
  answer: { answers },
  confirmation: `Your answer was sent: ${answers.map(describeAnswer).join('; ')}`,
});

const describeAnswer = ({ selected_label, selected_labels = [], custom_text }) =>
  [selected_label, ...selected_labels, custom_text].filter((part) => part !== undefined).join(', ');

window.question = { drawRequest };
