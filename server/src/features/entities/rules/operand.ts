// Operands, the values that a rule compares with: plain values, and templates that insert the principal's
// attributes.
import type { SignedIn } from '../../../core/auth/principal.ts';
import { isStorableText } from '../../../kit/text.ts';
import { countTextSteps, type StepBudget, spendSteps } from './budget.ts';
import type { Attribute, Operand } from './rule.ts';

const templatePattern = /\{\{user\.(id|email|full_name|role|data\.[A-Za-z_]\w{0,63})\}\}/;

/** Returns a message if the value is not a valid operand. */
export function parseOperand(json: unknown): Operand | string {
  if (json === null || typeof json === 'boolean') return { kind: 'value', value: json };
  if (typeof json === 'number')
    return Number.isFinite(json) ? { kind: 'value', value: json } : 'must be a finite number';
  if (typeof json !== 'string') return 'must be a string, a number, a boolean, null or a template';
  if (!isStorableText(json)) return 'must be valid Unicode text without NUL characters';
  return parseTemplate(json);
}

// Splitting by a pattern with one group puts each template's inner text at an odd position, so 'x-{{user.id}}!' becomes
// ['x-', 'id', '!'].
function parseTemplate(text: string): Operand | string {
  const parts = text.split(templatePattern);
  if (parts.some((part, at) => at % 2 === 0 && part.includes('{{'))) {
    return 'must contain only the templates {{user.id}}, {{user.email}}, {{user.full_name}}, {{user.role}} and {{user.data.<name>}}';
  }
  if (parts.length === 1) return { kind: 'value', value: text };
  const pieces = parts.map((part, at) => (at % 2 === 0 ? part : toAttribute(part))).filter((piece) => piece !== '');
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === 'object') return { kind: 'attribute', attribute: only };
  return { kind: 'text', pieces };
}

const attributePattern = /^(id|email|full_name|role|data\.[A-Za-z_]\w{0,63})$/;

export const parseAttribute = (text: string): Attribute | undefined =>
  attributePattern.test(text) ? toAttribute(text) : undefined;

function toAttribute(text: string): Attribute {
  switch (text) {
    case 'id':
    case 'email':
    case 'full_name':
    case 'role':
      return { builtIn: text };
    default:
      return { name: text.slice('data.'.length) };
  }
}

/** Returns undefined (unknown) if the attribute is missing or null, or if there is no principal, as in queries. */
export function readAttribute(principal: SignedIn | undefined, attribute: Attribute): unknown {
  if (principal === undefined) return undefined;
  if (attribute.builtIn !== undefined) return principal[attribute.builtIn];
  return Object.hasOwn(principal.data, attribute.name) ? (principal.data[attribute.name] ?? undefined) : undefined;
}

/** The operand's value for this principal, or undefined (unknown) if an attribute is unknown. */
export function resolveOperand(operand: Operand, principal: SignedIn | undefined, budget?: StepBudget): unknown {
  if (operand.kind === 'value') return operand.value;
  if (operand.kind === 'attribute') return readAttribute(principal, operand.attribute);
  let text = '';
  for (const piece of operand.pieces) {
    const value = typeof piece === 'string' ? piece : readAttribute(principal, piece);
    if (value === undefined) return undefined;
    const inserted = typeof value === 'string' ? value : JSON.stringify(value);
    spendSteps(budget, countTextSteps(inserted.length));
    text += inserted;
  }
  return text;
}
