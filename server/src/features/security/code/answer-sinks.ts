// The sinks in backend functions' responses: bodies, redirects and headers.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { constantInitialiserOf } from './program.ts';
import { type Sink, type SinkContext, sink, writtenTexts } from './sink.ts';
import { dottedName, enclosingFunction, propertyOf, textOf, unwrap } from './syntax.ts';

/** The sinks in a call that sends a response. */
export function answerSinks({
  context,
  call,
  name,
  method,
  first,
  second,
}: {
  readonly context: SinkContext;
  readonly call: ts.CallExpression;
  readonly name: string;
  readonly method: string | undefined;
  readonly first: ts.Expression;
  readonly second: ts.Expression | undefined;
}): readonly Sink[] {
  if (method === 'redirect' || /(^|\.)(redirect|permanentRedirect|sendRedirect)$/.test(name)) {
    const target = ts.isNumericLiteral(unwrap(first)) || /sendRedirect$/.test(name) ? second : first;
    return sink('unsafe_redirect', 'redirect', target, { at: call });
  }
  if (/^(set|setHeader|append|header|writeHead)$/.test(method ?? '')) {
    const header = textOf(first)?.toLowerCase();
    if (header === 'location') return sink('unsafe_redirect', 'redirect', second, { at: call });
    if (header === 'access-control-allow-origin') return corsSinks(call, second);
    return [];
  }
  if (method === 'html') return answerBody(call, first, true);
  if (/^(json|send|end|write|body|text|jsonp|render)$/.test(method ?? '') && !isRequestCall(call)) {
    const mayBeHtml = /^(send|end|write|body|render)$/.test(method ?? '') && !isPlainText(call);
    if (mayBeHtml && isSentAsHtml(call)) return answerBody(call, first, true, true);
    return answerBody(call, first, mayBeHtml && hasTags(context.flow, first));
  }
  return [];
}

/** Express sends text as HTML by default. Node does so only if the content type header is set to HTML. */
function isSentAsHtml(call: ts.CallExpression): boolean {
  if (/text\/html|type\(\s*['"`]\.?html/i.test(call.expression.getText())) return true;
  const receiver = dottedName(call.expression);
  if (/^(res|response)(\.(status|code)\(\))*\.send$/.test(receiver)) return true;
  return /^(res|response)\.(end|write)$/.test(receiver) && /text\/html/i.test(enclosingFunction(call)?.getText() ?? '');
}

/** True for `res.type('text/plain').send(…)`, or if the function sets a content type other than HTML. */
const isPlainText = (call: ts.CallExpression): boolean =>
  /\.type\(\s*['"`](text|txt|text\/plain|\.txt|json)['"`]/.test(call.expression.getText()) ||
  /content-type['"`]\s*[,:]\s*['"`](text\/(?!html)|application\/)/i.test(enclosingFunction(call)?.getText() ?? '');

/** `request.json()` reads a body, while `response.json(value)` sends one. */
const isRequestCall = (call: ts.CallExpression): boolean =>
  /(^|\.)(req|request)(\.clone\(\))?\.\w+$/.test(dottedName(call.expression));

export function answerBody(call: ts.Node, body: ts.Expression, isHtml: boolean, onlyParts = false): readonly Sink[] {
  return [
    ...sink('secret_in_response', 'key', body, { labels: ['secret'], at: call }),
    ...(isHtml ? sink('code.xss-answer', 'html', body, { at: call, onlyParts }) : []),
  ];
}

const htmlTag = /<(!doctype|html|h[1-6]|p|div|span|body|a|b|ul|li|script|strong|table|pre|main|section|title|img)\b/i;

/** Whether a string contains HTML tags. */
export const hasTags = (flow: Flow, node: ts.Expression): boolean =>
  writtenTexts(flow, node).some((text) => htmlTag.test(text));

export function isHtmlAnswer({ flow }: SinkContext, options: ts.Expression): boolean {
  const headers = propertyOf(options, 'headers');
  const initialiser = headers && constantInitialiserOf(flow.program, headers);
  const isHtml = /text\/html|image\/svg/i;
  if (isHtml.test((initialiser ?? headers ?? options).getText()) || isHtml.test(options.getText())) return true;
  // The type is set later, as in `headers.set('content-type', 'text/html')`.
  if (headers === undefined || !ts.isIdentifier(headers)) return false;
  const set = new RegExp(
    `\\b${headers.text.replace(/\$/g, '\\$')}\\.(set|append)\\(\\s*['"\`]content-type['"\`]\\s*,\\s*['"\`]text/html`,
    'i',
  );
  return set.test(enclosingFunction(options)?.getText() ?? '');
}

/** True for a capitalised `Location`, and for properties of `new Headers({…})` or of an object named like `headers`. */
export function isHeader(node: ts.ObjectLiteralElementLike): boolean {
  if (/^['"`]?Location/.test(node.getText())) return true;
  const { parent: object } = node;
  const owner = object.parent;
  if (ts.isNewExpression(owner)) return dottedName(owner.expression) === 'Headers';
  const name = ts.isPropertyAssignment(owner) || ts.isVariableDeclaration(owner) ? owner.name.getText() : '';
  return /headers/i.test(name);
}

export const corsSinks = (node: ts.Node, value: ts.Expression | undefined): readonly Sink[] =>
  sink('open_cors', 'cors', value, { at: node });
