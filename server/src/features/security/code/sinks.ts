// The places where a value can do harm: which expression, which use, and which origins count.
import ts from 'typescript';
import { answerBody, answerSinks, corsSinks, hasTags, isHeader, isHtmlAnswer } from './answer-sinks.ts';
import { declarationOf } from './program.ts';
import { isStatement, sqlSinks } from './query-sinks.ts';
import {
  type Details,
  fromAnybody,
  fromStranger,
  globalName,
  type Sink,
  type SinkContext,
  sink,
  writtenTexts,
} from './sink.ts';
import { dottedName, methodName, partsOf, propertyOf, receiverOf, textOf, unwrap } from './syntax.ts';
import { codeSinks, commandSinks, fileSinks, requestSinks, runsShell } from './system-sinks.ts';

export function sinksAt(context: SinkContext, node: ts.Node): readonly Sink[] {
  if (ts.isCallExpression(node)) return sinksOfCall(context, node);
  if (ts.isNewExpression(node)) return sinksOfNew(context, node);
  if (ts.isBinaryExpression(node)) return sinksOfAssignment(context, node);
  if (ts.isJsxAttribute(node)) return sinksOfAttribute(node);
  if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) return sinksOfProperty(context, node);
  return [];
}

function sinksOfCall(context: SinkContext, call: ts.CallExpression): readonly Sink[] {
  const name = globalName(context.flow, call.expression);
  const method = methodName(call);
  const [first, second] = call.arguments;
  if (first === undefined) return [];
  return [
    ...sqlSinks(context, call, name, method, first),
    ...commandSinks(context, call, name, first, second),
    ...codeSinks(name, call, first),
    ...fileSinks(call, name, method, first),
    ...requestSinks(context, call, name, first),
    ...htmlSinks(call, name, method, first, second),
    ...pageRedirectSinks(context, call, name, first),
    ...(context.isBackend ? answerSinks({ context, call, name, method, first, second }) : []),
  ];
}

function htmlSinks(
  call: ts.CallExpression,
  name: string,
  method: string | undefined,
  first: ts.Expression,
  second: ts.Expression | undefined,
): readonly Sink[] {
  const html: Details = { labels: fromAnybody, at: call };
  if (/(^|\.)(document|contentDocument)\.(write|writeln)$/.test(name)) {
    return call.arguments.flatMap((arg) => sink('code.xss-html', 'html', arg, html));
  }
  if (method === 'insertAdjacentHTML') return sink('code.xss-html', 'html', second, html);
  if (method === 'createContextualFragment' || method === 'setHTMLUnsafe')
    return sink('code.xss-html', 'html', first, html);
  if (/^unsafe(HTML|SVG)$/.test(name.split('.').at(-1) ?? '')) return sink('code.xss-html', 'html', first, html);
  if (/^bypassSecurityTrust(Html|Script|Url|ResourceUrl)$/.test(method ?? ''))
    return sink('code.xss-html', 'html', first, html);
  if (method === 'setAttribute') {
    const attribute = textOf(first)?.toLowerCase() ?? '';
    if (attribute === 'srcdoc' || attribute.startsWith('on')) return sink('code.xss-html', 'html', second, html);
    if (/^(href|src|action|formaction)$/.test(attribute)) {
      return sink('code.xss-link', 'html', second, { labels: ['location', 'message'], at: call });
    }
  }
  const receiver = receiverOf(call);
  if (/^(\$|jQuery)$/.test(name) && /^['"`]\s*</.test(first.getText()))
    return sink('code.xss-html', 'html', first, html);
  const isQuery = receiver !== undefined && /^((\$|jQuery)\(|\$\w+$)/.test(receiver.getText());
  if (isQuery && /^(html|append|prepend|after|before|replaceWith)$/.test(method ?? '')) {
    const isText = partsOf(unwrap(first)) !== undefined || method === 'html';
    return isText ? sink('code.xss-html', 'html', first, html) : [];
  }
  return [];
}

function pageRedirectSinks(
  context: SinkContext,
  call: ts.CallExpression,
  name: string,
  first: ts.Expression,
): readonly Sink[] {
  const details: Details = { labels: fromStranger, at: call };
  if (/^((window|document|self|globalThis|top|parent)\.)*location\.(assign|replace)$/.test(name)) {
    return sink('code.open-redirect', 'redirect', first, details);
  }
  if (/^(window\.)?open$/.test(name) && /_self|_top|_parent/.test(textOf(call.arguments[1]) ?? '')) {
    return sink('code.open-redirect', 'redirect', first, details);
  }
  const isRouter =
    /(^|\.)(push|replace)$/.test(name) && /from ['"]next\/(router|navigation)['"]/.test(context.module.source.text);
  if (isRouter && /router/i.test(call.expression.getText()))
    return sink('code.open-redirect', 'redirect', first, details);
  return [];
}

function sinksOfNew(context: SinkContext, node: ts.NewExpression): readonly Sink[] {
  const name = globalName(context.flow, node.expression);
  const [first, second] = node.arguments ?? [];
  if (first === undefined) return [];
  const all: Details = { labels: fromAnybody, at: node };
  if (/^((window|globalThis|self)\.)?(Async|Generator)?Function$|^vm\.Script$/.test(name)) {
    return (node.arguments ?? []).flatMap((arg) => sink('code.code-injection', 'code', arg, all));
  }
  if (/^(WebSocket|EventSource|ws|ws\.WebSocket)$/.test(name) && context.isBackend) {
    return sink('code.ssrf', 'address', first, { at: node });
  }
  if (name === 'Deno.Command') {
    const args = propertyOf(second, 'args');
    if (runsShell(first) && args !== undefined) return sink('code.command-injection', 'command', args, { at: node });
    return sink('code.command-injection', 'command', first, { at: node });
  }
  if (/^(Response|NextResponse)$/.test(name) && context.isBackend) {
    const isHtml = second !== undefined && isHtmlAnswer(context, second);
    return answerBody(node, first, isHtml);
  }
  return [];
}

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.EqualsToken || kind === ts.SyntaxKind.PlusEqualsToken;

function sinksOfAssignment(context: SinkContext, node: ts.BinaryExpression): readonly Sink[] {
  if (!isAssignment(node)) return [];
  const left = unwrap(node.left);
  const name = dottedName(left);
  const last = ts.isPropertyAccessExpression(left)
    ? left.name.text
    : ts.isElementAccessExpression(left)
      ? (textOf(left.argumentExpression) ?? '')
      : '';
  if (/^(innerHTML|outerHTML|srcdoc)$/.test(last)) {
    return sink('code.xss-html', 'html', node.right, { labels: fromAnybody, at: node });
  }
  if (/^((window|document|self|globalThis|top|parent)\.)*location(\.href)?$/.test(name) && !isDeclared(context, left)) {
    return sink('code.open-redirect', 'redirect', node.right, { labels: fromStranger, at: node });
  }
  if (/^(href|src|action)$/.test(last) && !context.isBackend) {
    return sink('code.xss-link', 'html', node.right, { labels: ['location', 'message'], at: node });
  }
  if (context.isBackend && /^(location)$/i.test(last) && /header/i.test(name)) {
    return sink('unsafe_redirect', 'redirect', node.right, { at: node });
  }
  if (context.isBackend && last.toLowerCase() === 'access-control-allow-origin') return corsSinks(node, node.right);
  if (context.isBackend && /^(ctx|context)\.(body|response\.body)$/.test(name))
    return answerBody(node, node.right, hasTags(context.flow, node.right));
  return pollutionSinks(left, node);
}

function isDeclared({ flow }: SinkContext, node: ts.Expression): boolean {
  let at = unwrap(node);
  while (ts.isPropertyAccessExpression(at)) at = unwrap(at.expression);
  return ts.isIdentifier(at) && declarationOf(flow.program, at) !== undefined;
}

/** Finds assignments such as `object[name][other] = value`. */
function pollutionSinks(left: ts.Expression, node: ts.Node): readonly Sink[] {
  if (!ts.isElementAccessExpression(left)) return [];
  const inner = unwrap(left.expression);
  if (!ts.isElementAccessExpression(inner)) return [];
  return sink('code.prototype-pollution', 'key', inner.argumentExpression, { at: node });
}

function sinksOfAttribute(node: ts.JsxAttribute): readonly Sink[] {
  const name = ts.isIdentifier(node.name) ? node.name.text : node.name.getText();
  const { initializer } = node;
  const value = initializer && ts.isJsxExpression(initializer) ? initializer.expression : undefined;
  if (value === undefined) return [];
  const element = node.parent.parent;
  const tag = ts.isJsxOpeningLikeElement(element) ? element.tagName.getText() : '';
  if (name === 'dangerouslySetInnerHTML') {
    // Theme styles contain colours and sizes, and can't contain a script unless a stranger controls them.
    if (tag === 'style')
      return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromStranger, at: node });
    return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromAnybody, at: node });
  }
  if (/^srcdoc$/i.test(name)) return sink('code.xss-html', 'html', value, { labels: fromAnybody, at: node });
  if (/^(href|src|action|formAction|xlinkHref)$/.test(name)) {
    const runs = /^(a|iframe|form|button|embed|object|script|frame|area|base)$/i.test(tag);
    return runs ? sink('code.xss-link', 'html', value, { labels: ['location', 'message'], at: node }) : [];
  }
  return [];
}

/** Finds sinks in object properties, such as response headers, wherever the object is built. */
function sinksOfProperty(
  context: SinkContext,
  node: ts.PropertyAssignment | ts.ShorthandPropertyAssignment,
): readonly Sink[] {
  const name = node.name.getText().replace(/['"`]/g, '').toLowerCase();
  const value = ts.isPropertyAssignment(node) ? node.initializer : node.name;
  if (name === 'dangerouslysetinnerhtml') {
    return sink('code.xss-html', 'html', value, { path: ['__html'], labels: fromAnybody, at: node });
  }
  if (/^(innerhtml|outerhtml|srcdoc)$/.test(name) && ts.isCallExpression(node.parent.parent)) {
    return sink('code.xss-html', 'html', value, { labels: fromAnybody, at: node });
  }
  if (!context.isBackend) return [];
  if (/^(sql|querystring|statement|querytext)$/.test(name) && writtenTexts(context.flow, value).some(isStatement)) {
    return sink('code.sql-injection', 'sql', value, { at: node, onlyParts: true });
  }
  // An LDAP filter, such as `(uid=${name})`.
  if (name === 'filter' && /^[`'"]\([&|!(]*\w+=/.test(value.getText())) {
    return sink('code.nosql-injection', 'sql', value, { at: node, onlyParts: true });
  }
  if (name === '$where') return sink('code.nosql-injection', 'code', value, { at: node });
  if (name === 'location' && isHeader(node)) return sink('unsafe_redirect', 'redirect', value, { at: node });
  if (name === 'access-control-allow-origin') return corsSinks(node, value);
  if (
    name === 'body' &&
    ts.isObjectLiteralExpression(node.parent) &&
    propertyOf(node.parent, 'statusCode') !== undefined
  ) {
    return answerBody(node, value, /text\/html/i.test(propertyOf(node.parent, 'headers')?.getText() ?? ''));
  }
  return [];
}
