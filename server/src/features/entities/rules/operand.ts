// Owns what a rule compares with: plain values, and templates that take an attribute of who asks.
import type { SignedIn } from '../../../core/auth/principal.ts';
import { isStorableText } from '../../../kit/text.ts';
import type { Attribute, Operand } from './rule.ts';

const template = /\{\{user\.(id|email|full_name|role|data\.[A-Za-z_]\w{0,63})\}\}/;

/** A text says why it is none. */
export function parseOperand(json: unknown): Operand | string {
  if (json === null || typeof json === 'boolean') return { kind: 'value', value: json };
  if (typeof json === 'number') return Number.isFinite(json) ? { kind: 'value', value: json } : 'not a finite number';
  if (typeof json !== 'string') return 'must be a string, a number, a boolean, null or a template';
  if (!isStorableText(json)) return 'text with characters that cannot be stored';
  return parseText(json);
}

// `split` by an expression with one group leaves the templates' inner text at the odd places.
function parseText(text: string): Operand | string {
  const parts = text.split(template);
  if (parts.some((part, at) => at % 2 === 0 && part.includes('{{'))) {
    return 'a template is one of {{user.id}}, {{user.email}}, {{user.full_name}}, {{user.role}}, {{user.data.<name>}}';
  }
  if (parts.length === 1) return { kind: 'value', value: text };
  const pieces = parts.map((part, at) => (at % 2 === 0 ? part : attributeNamed(part))).filter((piece) => piece !== '');
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === 'object') return { kind: 'attribute', attribute: only };
  return { kind: 'text', pieces };
}

const attribute = /^(id|email|full_name|role|data\.[A-Za-z_]\w{0,63})$/;

export const parseAttribute = (text: string): Attribute | undefined =>
  attribute.test(text) ? attributeNamed(text) : undefined;

function attributeNamed(text: string): Attribute {
  switch (text) {
    case 'id':
    case 'email':
    case 'full_name':
    case 'role':
      return { own: text };
    default:
      return { name: text.slice('data.'.length) };
  }
}

/** Undefined is unknown: the attribute is missing or null, or nobody asks (a query names no attributes). */
export function attributeOf(who: SignedIn | undefined, attribute: Attribute): unknown {
  if (who === undefined) return undefined;
  if (attribute.own !== undefined) return who[attribute.own];
  return Object.hasOwn(who.data, attribute.name) ? (who.data[attribute.name] ?? undefined) : undefined;
}

/** Undefined is unknown. */
export function resolve(operand: Operand, who: SignedIn | undefined): unknown {
  if (operand.kind === 'value') return operand.value;
  if (operand.kind === 'attribute') return attributeOf(who, operand.attribute);
  let text = '';
  for (const piece of operand.pieces) {
    const value = typeof piece === 'string' ? piece : attributeOf(who, piece);
    if (value === undefined) return undefined;
    text += typeof value === 'string' ? value : JSON.stringify(value);
  }
  return text;
}
