// The agent's tools, and converting a tool call into an action or a check. If the agent makes a mistake, a
// ToolError with a message for the agent is thrown.
import { z } from 'zod';
import type { Check, PageAction, Place } from '../../../gateways/browser/session/types.ts';
import type { RequestedCall, ToolDescription } from '../../../gateways/language-model/index.ts';
import { toStorable } from '../../../kit/text.ts';
import { passwordPlaceholder } from './credentials.ts';
import { findInTree, toTarget } from './snapshot.ts';

/** Thrown with the reason why a call can't be performed. */
export class ToolError extends Error {}

const maxText = 1_000;
const ref = z.string().min(1).max(40).describe('Of an element in the last snapshot, such as e12');
const text = z.string().max(maxText);

/** The ARIA roles that a check may name. Any other word, such as `input`, would not match anything. */
const roles = `
  alert alertdialog article banner button caption cell checkbox columnheader combobox complementary contentinfo
  definition dialog feed figure form grid gridcell group heading img link list listbox listitem log main menu
  menubar menuitem menuitemcheckbox menuitemradio meter navigation note option paragraph progressbar radio
  radiogroup region row rowgroup rowheader search searchbox separator slider spinbutton status switch tab table
  tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem
`
  .trim()
  .split(/\s+/);

const checkParts = {
  ref: ref.optional(),
  role: z.enum(roles).optional().describe('With name, in place of ref, for an element that may not be there'),
  name: z.string().max(300).optional(),
  text: text.optional().describe('For text and no_text. Case and spaces do not matter'),
  value: text.optional().describe('For value'),
  count: z.int().min(0).max(1_000).optional().describe('For count, with role and perhaps name'),
  contains: z.string().max(300).optional().describe('For url'),
};
const kind = z
  .enum(['visible', 'hidden', 'text', 'no_text', 'value', 'count', 'url', 'fits'])
  .describe(
    'text: the element, or the page if none is named, shows the text. value: what a field contains. count: how many visible elements have the role. fits: nothing is wider than the window',
  );

const parameters = {
  open: z.object({ path: z.string().min(1).max(2_000).describe('On the app itself, such as /orders') }),
  click: z.object({ ref }),
  type: z.object({
    ref,
    text: text.describe('Replaces what the field contains. {{email}} and {{password}} stand for those of your user'),
    submit: z.boolean().optional().describe('Press Enter afterwards'),
  }),
  select: z.object({ ref, option: text.describe('The option as it is shown') }),
  resize: z.object({ width: z.int().min(240).max(1_920), height: z.int().min(240).max(1_200) }),
  wait: z.object({ kind, ...checkParts }),
  assert: z.object({
    expectation: z.int().min(1).optional().describe('The number of a recorded expectation, without anything else'),
    kind: kind.optional(),
    ...checkParts,
  }),
  finish: z.object({ summary: z.string().max(500).describe('What you did, in one or two sentences for a person') }),
};

const descriptions: Readonly<Record<ToolName, string>> = {
  open: 'Opens a page of the app.',
  click: 'Clicks an element.',
  type: 'Types into a field.',
  select: 'Selects an option of a list.',
  resize: 'Changes the size of the window, for example to 390 × 844 for a phone.',
  wait: 'Waits up to 15 seconds until something is so. It decides nothing: use assert for what the goal demands.',
  assert:
    'Checks something that the goal demands, for up to 5 seconds. A check that does not hold fails the test for good, so look at the page before.',
  finish: 'Ends the test, after all that the goal demands was checked.',
};

type ToolName = keyof typeof parameters;

const names = Object.keys(parameters) as ToolName[];

export const tools: readonly ToolDescription[] = names.map((name) => ({
  name,
  description: descriptions[name],
  parameters: parameters[name],
}));

/** A parsed call. */
export type Command =
  | { readonly command: 'act'; readonly action: PageAction }
  | { readonly command: 'check'; readonly check: Check }
  | { readonly command: 'expectation'; readonly number: number }
  | { readonly command: 'finish'; readonly summary: string };

/** Throws a ToolError if the call is invalid. `tree` is the last snapshot. */
export function readCall({ name, arguments_string }: RequestedCall, tree: string): Command {
  const read = readers[name as ToolName];
  if (!Object.hasOwn(readers, name))
    throw new ToolError(`There is no tool with this name. The tools are: ${names.join(', ')}.`);
  const input = parseJson(arguments_string);
  if (name !== 'type') refusePassword(input);
  return read(input, tree);
}

const readers: Readonly<Record<ToolName, (input: unknown, tree: string) => Command>> = {
  open: (input) => ({ command: 'act', action: { action: 'open', path: parse('open', input).path } }),
  click: (input, tree) => ({
    command: 'act',
    action: { action: 'click', place: toPlace(parse('click', input).ref, tree) },
  }),
  type(input, tree) {
    const { ref, text, submit = false } = parse('type', input);
    return { command: 'act', action: { action: 'type', place: toPlace(ref, tree), text, submit } };
  },
  select(input, tree) {
    const { ref, option } = parse('select', input);
    return { command: 'act', action: { action: 'select', place: toPlace(ref, tree), option } };
  },
  resize: (input) => ({ command: 'act', action: { action: 'resize', ...parse('resize', input) } }),
  wait(input, tree) {
    const { kind, ...parts } = parse('wait', input);
    return { command: 'act', action: { action: 'wait', check: toCheck(kind, parts, tree) } };
  },
  assert(input, tree) {
    const { expectation, kind, ...parts } = parse('assert', input);
    if (expectation !== undefined) return { command: 'expectation', number: expectation };
    if (kind === undefined) throw new ToolError('Say what to check: kind, or the number of a recorded expectation.');
    return { command: 'check', check: toCheck(kind, parts, tree) };
  },
  finish: (input) => ({ command: 'finish', summary: parse('finish', input).summary }),
};

function parse<Name extends ToolName>(name: Name, input: unknown): z.output<(typeof parameters)[Name]> {
  const parsed = parameters[name].safeParse(toStorable(input));
  if (parsed.success) return parsed.data as z.output<(typeof parameters)[Name]>;
  throw new ToolError(`The arguments are not valid:\n${z.prettifyError(parsed.error).slice(0, 1_000)}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolError('The arguments are not valid JSON.');
  }
}

/** A password in a search or an address would be exposed in pages and logs. */
function refusePassword(input: unknown): void {
  // Serialised again, because JSON allows the same text to be written in different ways.
  if (JSON.stringify(input).includes(passwordPlaceholder))
    throw new ToolError(`${passwordPlaceholder} can only be typed into a field.`);
}

function toPlace(ref: string, tree: string): Place {
  if (findInTree(tree, ref) === undefined)
    throw new ToolError(`The last snapshot has no element with the ref ${ref}. Use one of its refs.`);
  return { ref };
}

type CheckParts = z.output<z.ZodObject<typeof checkParts>>;

function toCheck(kind: z.output<typeof parameters.wait>['kind'], parts: CheckParts, tree: string): Check {
  const { text, value, count, contains, role, name } = parts;
  switch (kind) {
    case 'visible':
      return { kind, place: getPlace(parts, tree) };
    case 'hidden':
      return { kind, place: getNamedPlace(parts, tree) };
    case 'text':
    case 'no_text':
      return { kind, text: getText(text, 'text'), place: findPlace(parts, tree) };
    case 'value':
      if (value === undefined) throw new ToolError('A check of this kind needs value.');
      return { kind, place: getPlace(parts, tree), value };
    case 'count':
      if (role === undefined || count === undefined)
        throw new ToolError('A check of this kind needs role and count, and no ref.');
      return { kind, role, name: name ?? null, count };
    case 'url':
      return { kind, contains: getText(contains, 'contains') };
    case 'fits':
      return { kind };
  }
}

/** Every page contains the empty string, so a check for it would be meaningless. */
function getText(text: string | undefined, part: string): string {
  if (text === undefined || text.trim() === '')
    throw new ToolError(`A check of this kind needs ${part}, which is not empty.`);
  return text;
}

function findPlace({ ref, role, name }: CheckParts, tree: string): Place | null {
  if (ref !== undefined) return toPlace(ref, tree);
  if (role === undefined) return null;
  if (name === undefined || name === '') throw new ToolError('Name the element by role and name, or by ref.');
  return { target: toTarget({ role, name }) };
}

function getPlace(parts: CheckParts, tree: string): Place {
  const place = findPlace(parts, tree);
  if (place === null) throw new ToolError('A check of this kind needs an element: ref, or role and name.');
  return place;
}

/** Once the element has disappeared, it can be identified only by its name, so it must have one. */
function getNamedPlace(parts: CheckParts, tree: string): Place {
  const place = getPlace(parts, tree);
  if ('ref' in place && findInTree(tree, place.ref)?.name === '')
    throw new ToolError('This element has no name by which it could be missed. Check no_text in place of hidden.');
  return place;
}
