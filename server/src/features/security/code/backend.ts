// The checks on functions that handle requests: how they use their own privileges, whether they verify the caller
// or a webhook's signature, and which websites may read their responses.
import ts from 'typescript';
import type { Hit } from './analysis.ts';
import { isCallerChecked } from './callers.ts';
import { checksAt } from './checks.ts';
import type { Flow } from './flow.ts';
import type { Handler } from './handlers.ts';
import { keyOf } from './keys.ts';
import { originOf, uses } from './origins.ts';
import {
  constantInitialiserOf,
  declarationOf,
  findCallees,
  findFunctions,
  importedNode,
  type Module,
} from './program.ts';
import { readRegExp, usesSafeAfterMatch } from './samples.ts';
import {
  dottedName,
  type FunctionNode,
  isFunction,
  methodName,
  nodesOf,
  propertyOf,
  receiverOf,
  returnsOf,
  textOf,
  unwrap,
  walk,
} from './syntax.ts';

export function checkHandlers(flow: Flow, module: Module, handlers: readonly Handler[]): readonly Hit[] {
  return handlers.flatMap((handler) => {
    if (handler.isMiddleware === true) return [];
    const inner = delegateOf(flow, handler);
    const at = sensitiveCalls(flow, inner.fn, new Set(), 0).find((call) => !isCallerChecked(flow, inner, call));
    if (at === undefined) return [];
    const rule = isWebhook(module, handler) || isWebhook(module, inner) ? 'unverified_webhook' : 'no_caller_check';
    return [{ rule, at, label: 'request', source: inner.fn } as const];
  });
}

/** In `(event) => event.respondWith(respond(event.request))`, the called function handles the request. */
function delegateOf(flow: Flow, handler: Handler): Handler {
  const { body } = handler.fn;
  const statement = ts.isBlock(body) ? body.statements[0] : body;
  if (statement === undefined || (ts.isBlock(body) && body.statements.length > 1)) return handler;
  let only: FunctionNode | undefined;
  walk(statement, (node) => {
    if (only === undefined && ts.isCallExpression(node)) only = findCallees(flow.program, node)[0];
    return only === undefined && !isFunction(node);
  });
  return only === undefined ? handler : { ...handler, fn: only };
}

const maxDepth = 4;
const maxCalls = 30;

/** The calls in a function that use its own privileges or cost money, including calls to helpers that do so. */
function sensitiveCalls(flow: Flow, fn: FunctionNode, seen: Set<FunctionNode>, depth: number): readonly ts.Node[] {
  if (seen.has(fn) || depth > maxDepth) return [];
  seen.add(fn);
  const found: ts.Node[] = [];
  walk(fn, (node) => {
    if (ts.isTaggedTemplateExpression(node) && isSensitiveSql(node.template.getText(), node.tag.getText()))
      found.push(node);
    if (!ts.isCallExpression(node)) return found.length < maxCalls;
    const callees = findCallees(flow.program, node);
    const inner = callees.some((callee) => sensitiveCalls(flow, callee, new Set(seen), depth + 1).length > 0);
    if (inner || isSensitiveCall(flow, node)) found.push(node);
    return found.length < maxCalls;
  });
  return found;
}

const privateNouns =
  /user|customer|order|invoice|payment|patient|account|member|employee|salar|message|lead|subscriber|profile|contact|admin|secret|token|session|booking|appointment|medical|email|transaction|audit|ticket|document|address|phone|wallet|balance|credential|client|person|people|staff|student|applicant|candidate|guest/i;
const privateColumns = /email|phone|passw|token|secret|salary|balance|birth|iban|ssn\b/i;
const publicFilter =
  /publish|is_public|public\s*[:=]|visible|active\s*[:=]\s*true|status\s*[:=]\s*'(live|active|published)'|count\(\*\)/i;

function isSensitiveSql(text: string, tag: string): boolean {
  if (!/sql|query|db|\$queryRaw|\$executeRaw|conn|pool|client|^tx$|^trx$/i.test(tag)) return false;
  if (
    /\b(insert\s+into|update\s+\S+\s+set|delete\s+from|drop\s+table|truncate|alter\s+table|merge\s+into)\b/i.test(text)
  )
    return true;
  if (!/\bselect\b/i.test(text) || publicFilter.test(text)) return false;
  const tables = [...text.matchAll(/\b(?:from|join)\s+([\w."]+)/gi)].map(([, table = '']) => table);
  return tables.length === 0
    ? privateNouns.test(text)
    : privateNouns.test(tables.join(' ')) || privateColumns.test(text);
}

const writingMethods =
  /^(insert|insertOne|insertMany|update|updateOne|updateMany|upsert|delete|deleteOne|deleteMany|create|createMany|bulkCreate|bulkUpdate|bulkDelete|remove|destroy|replaceOne|findOneAndUpdate|findOneAndDelete|findByIdAndUpdate|findByIdAndDelete|save|del|set|hset|incr|setex|lpush|sadd|add|commit|execute|batchWrite|put|patch|cancel|refund|capture|transfer|deleteUser|updateUser|createUser|setCustomUserClaims|updateUserById|inviteUserByEmail|listUsers|generateLink|revoke|approve|putObject|deleteObject|atomic|enqueue|deleteFrom|insertInto|updateTable|replaceInto|bulkWrite|sendBatch)$/;
/** Methods that only document databases have, regardless of the receiver. */
const documentMethods =
  /^(findByIdAndUpdate|findByIdAndDelete|findOneAndUpdate|findOneAndDelete|findOneAndReplace|insertMany|bulkWrite)$/;
const readingMethods =
  /^(select|find|findOne|findMany|findFirst|findUnique|findById|list|filter|get|getAll|all|query|listUsers|search|count|scan|aggregate|getDocs|retrieve)$/;

function isSensitiveCall(flow: Flow, call: ts.CallExpression): boolean {
  const name = expandedName(flow, call.expression);
  const method = methodName(call) ?? '';
  const text = call.getText();
  if (/asServiceRole/.test(name))
    return /\.\w+$/.test(name) && !/asServiceRole(\.entities)?$/.test(name) && !isPublicRead(method, text);
  if (/createClientFromRequest|createServerComponentClient|forCaller/.test(name)) return false;
  const sqlText = textOf(call.arguments[0]) ?? constantText(flow, call.arguments[0]);
  if (
    sqlText !== undefined &&
    /^(query|execute|run|queryObject|queryArray|exec|all|get|prepare|unsafe|raw|\$executeRawUnsafe|\$queryRawUnsafe|one|many|any|none|oneOrNone)$/.test(
      method,
    )
  ) {
    return isSensitiveSql(sqlText, 'sql');
  }
  return (
    isSupabaseCall(flow, call, method) ||
    isPaidCall(name, method, call) ||
    isDatabaseCall(flow, call, name, method) ||
    isMail(flow, call, name, method) ||
    isFileChange(name) ||
    isProcessStart(name) ||
    isCommandOfAws(method, text) ||
    isForeignChange(call, name)
  );
}

const isPublicRead = (method: string, text: string): boolean => readingMethods.test(method) && publicFilter.test(text);

const constantText = (flow: Flow, node: ts.Expression | undefined): string | undefined => {
  const value = node && (constantInitialiserOf(flow.program, node) ?? unwrap(node));
  if (value === undefined) return undefined;
  return (
    textOf(value) ?? (ts.isTemplateExpression(value) || ts.isBinaryExpression(value) ? value.getText() : undefined)
  );
};

/** The name of the called function, with constants replaced by the expressions that initialise them. */
function expandedName(flow: Flow, node: ts.Expression, depth = 0): string {
  let at = unwrap(node);
  const rest: string[] = [];
  for (;;) {
    if (ts.isPropertyAccessExpression(at)) rest.unshift(at.name.text);
    else if (ts.isElementAccessExpression(at)) rest.unshift('?');
    else if (!ts.isCallExpression(at)) break;
    at = unwrap(at.expression);
  }
  if (!ts.isIdentifier(at) || depth > 4) return [dottedName(at), ...rest].join('.');
  const declaration = declarationOf(flow.program, at);
  const exported = declaration && importedNode(flow.program, declaration);
  const [only, ...more] = declaration?.definitions ?? [];
  const inner =
    exported !== undefined && ts.isIdentifier(exported)
      ? expandedName(flow, exported, depth + 1)
      : only !== undefined && more.length === 0
        ? [expandedName(flow, only.value, depth + 1), ...only.path].join('.')
        : at.text;
  return [inner, ...rest].join('.');
}

/** The source code that creates a value, such as `createClient(url, key)`. */
function madeFrom(flow: Flow, node: ts.Expression): string {
  let at = unwrap(node);
  for (let depth = 0; depth < 12; depth += 1) {
    if (ts.isPropertyAccessExpression(at) || ts.isElementAccessExpression(at)) at = unwrap(at.expression);
    else if (ts.isCallExpression(at) && receiverOf(at) !== undefined) at = unwrap(at.expression);
    else if (ts.isIdentifier(at)) {
      const value = constantInitialiserOf(flow.program, at);
      if (value === undefined || value === at) break;
      at = value;
    } else break;
  }
  return at.getText().slice(0, 600);
}

/** The service role bypasses row rules. The caller's key and the public key do not. */
function isSupabaseCall(flow: Flow, call: ts.CallExpression, method: string): boolean {
  if (!/^(from|rpc|deleteUser|updateUserById|inviteUserByEmail|listUsers|createUser|generateLink)$/.test(method))
    return false;
  const receiver = receiverOf(call);
  const made = receiver === undefined ? '' : madeFrom(flow, receiver);
  if (!/createClient|supabase/i.test(made)) return false;
  if (method !== 'from' && method !== 'rpc')
    return /SERVICE|SECRET|ADMIN/i.test(made) || /\.admin\./.test(call.getText());
  if (!/SERVICE|SECRET|ADMIN/i.test(made)) return false;
  const whole = wholeChain(call);
  const isRead = /\.select\(/.test(whole) && !/\.(insert|update|upsert|delete)\(/.test(whole);
  return !isRead || (privateNouns.test(whole) && !publicFilter.test(whole)) || !publicFilter.test(whole);
}

/** The whole call chain that a call is part of, such as `db.from('x').select().eq(…)`. */
function wholeChain(call: ts.Node): string {
  let at: ts.Node = call;
  while (ts.isPropertyAccessExpression(at.parent) || (ts.isCallExpression(at.parent) && at.parent.expression === at))
    at = at.parent;
  return at.getText();
}

function isPaidCall(name: string, method: string, call: ts.CallExpression): boolean {
  if (/(^|\.)(Stripe|stripe)(\(\))?\b/.test(name)) {
    const isCheckout = /checkout\.sessions|paymentIntents|setupIntents/.test(name) && method === 'create';
    return writingMethods.test(method) && !isCheckout;
  }
  if (/integrations\.Core\.\w+$/.test(name)) return !/UploadFile$/.test(name);
  if (/(completions|messages|images|embeddings|responses)\.(create|generate)$/.test(name)) return true;
  return /^(generateText|streamText|generateObject|generateImage)$/.test(dottedName(call.expression));
}

function isDatabaseCall(flow: Flow, call: ts.CallExpression, name: string, method: string): boolean {
  const receiver = receiverOf(call);
  if (documentMethods.test(method)) return true;
  if (receiver === undefined) return false;
  if (/^env\.[A-Z][A-Z0-9_]*\.(put|delete|send|sendBatch)$/.test(name)) return !/cache|rate|limit/i.test(name);
  if (/^(\$?transaction|withTransaction|runTransaction|begin)$/.test(method) && changes.test(call.getText()))
    return true;
  if (!(writingMethods.test(method) || readingMethods.test(method))) return false;
  const made = `${name} ${madeFrom(flow, receiver)}`;
  const isStore =
    /prisma|PrismaClient|drizzle|mongo|collection|mongoose|firestore|getFirestore|knex|openKv|redis|Redis|sequelize|typeorm|dynamo|kysely|Model\b|repository|\bkv\b/i.test(
      made,
    ) || /^(db|database)\b/.test(name);
  if (!isStore || /headers|searchParams|cookies|new (Map|Set|URL)|Map\(|formData/.test(made)) return false;
  if (writingMethods.test(method)) return method !== 'set' || !/rate|cache|limit/i.test(call.getText());
  return privateNouns.test(call.getText()) && !publicFilter.test(call.getText()) && !/rate|limit/i.test(name);
}

const changes =
  /\.(insert|update|upsert|delete|create|save|set|remove)\w*\(|\b(insert\s+into|delete\s+from|update\s+\w+\s+set)\b/i;

/**
 * Mail to many addresses, or to an address that the caller chooses. Contact forms with a fixed recipient may be public.
 */
function isMail(flow: Flow, call: ts.CallExpression, name: string, method: string): boolean {
  if (
    !/^(send|sendMail|sendEmail|SendEmail|sendMessage|sendSms|create)$/.test(method) &&
    !/^send(Mail|Email|Sms)$/i.test(name)
  )
    return false;
  if (!/mail|resend|sendgrid|twilio|postmark|ses|sms|messages|smtp/i.test(`${name} ${call.expression.getText()}`))
    return false;
  const to = call.arguments.map((arg) => propertyOf(arg, 'to')).find((value) => value !== undefined);
  if (to === undefined) return true;
  return flow.originsOf(to).some(({ label }) => label !== 'secret');
}

/** A call that starts a program, as a deployment hook does. */
const isProcessStart = (name: string): boolean =>
  /^(child_process|cp|childProcess)\.(exec|execSync|execFile|execFileSync|spawn|spawnSync)$|^(exec|execSync|execFile|spawn|spawnSync|execa)$/.test(
    name,
  );

/** A command such as `client.send(new DeleteItemCommand(…))`. */
function isCommandOfAws(method: string, text: string): boolean {
  if (method !== 'send') return false;
  if (/new (Put|Delete|Update|Send|Publish|Invoke|Transact|BatchWrite|Admin)\w*Command\(/.test(text)) return true;
  return /new (Get|Query|Scan|List)\w*Command\(/.test(text) && privateNouns.test(text) && !publicFilter.test(text);
}

const isFileChange = (name: string): boolean =>
  /^Deno\.(remove|writeTextFile|writeFile|rename)(Sync)?$|^fs(\.promises)?\.(unlink|rm|rmdir|writeFile)(Sync)?$/.test(
    name,
  );

/** A change in another service, made with one of this app's secrets. */
function isForeignChange(call: ts.CallExpression, name: string): boolean {
  if (!/^fetch$|^axios\.(post|put|patch|delete)$/.test(name)) return false;
  const text = call.getText();
  const usesSecret = /authorization|api[-_]?key|x-api-key|bearer/i.test(text) && /env|KEY|SECRET|TOKEN/.test(text);
  if (!usesSecret || !/method|axios\./.test(text)) return false;
  if (/method:\s*['"](DELETE|PUT|PATCH)|axios\.(put|patch|delete)/.test(text)) return true;
  return /admin|deploy|dispatch|refund|payout|transfer|charge|users?\b|sms|messages|mail|completions|generate|notify|broadcast/i.test(
    text,
  );
}

const webhookHeaders =
  /['"`](stripe-signature|x-github-event|x-hub-signature(-256)?|x-shopify-[\w-]+|svix-[\w-]+|x-twilio-signature|x-telegram-[\w-]+|x-slack-signature|x-line-signature|x-gitlab-(event|token)|paypal-[\w-]+|x-signature[\w-]*|webhook-(id|signature)|x-webhook[\w-]*|typeform-signature|linear-signature|x-zm-signature|x-event-(key|type)|x-cal-signature[\w-]*|paddle-signature|x-razorpay-signature|x-paystack-signature)['"`]/i;
const eventNames =
  /['"`](checkout|payment|payment_intent|invoice|charge|customer|subscription|order|orders|user|issue|issues|pull_request|transaction|message|contact|form|email|booking|product|account|session|member|membership|deployment|record|refund|payout|dispute|event)[._/:](?:\w+[._])*(\w*(ed|paid|create|update|delete|success|fail|failure|complete|new|received))['"`]/i;

/** Recognises a webhook by its path, its headers, or the event names that it compares. */
function isWebhook(module: Module, { fn, route }: Handler): boolean {
  if (/web-?_?hooks?|(^|\/)hooks?(\/|\.|$)/i.test(`${module.path} ${route}`)) return true;
  const text = fn.getText();
  return webhookHeaders.test(text) || eventNames.test(text) || webhookHeaders.test(module.source.text);
}

/** Finds responses that other websites may read using the visitor's cookies. */
export function checkCors(flow: Flow, module: Module, reflected: readonly Hit[]): readonly Hit[] {
  const hits: Hit[] = [];
  const allowsCookies = allowsCredentials(module.source.text);
  // The origin header and the credentials header may be set in different files.
  const imported = () => module.imports.slice(0, 20).map((path) => flow.program.open(path)?.source.text ?? '');
  if (reflected.length > 0 && (allowsCookies || imported().some(allowsCredentials))) hits.push(...reflected);
  for (const node of nodesOf(module.source)) {
    if (ts.isCallExpression(node) && isCorsFunction(flow, node.expression)) {
      hits.push(...corsCall(flow, node));
    } else if (
      ts.isCallExpression(node) &&
      methodName(node) === 'register' &&
      node.arguments[0] !== undefined &&
      isCorsFunction(flow, node.arguments[0])
    ) {
      hits.push(...corsCall(flow, node, 1));
    } else if (allowsCookies && isStar(node))
      hits.push({ rule: 'open_cors', at: node, label: 'request', source: node });
  }
  return hits;
}

/** Recognises a CORS function by its name, or by the package that it comes from. */
function isCorsFunction(flow: Flow, node: ts.Expression): boolean {
  if (/(^|\.)(cors|enableCors|fastifyCors|oakCors)$/i.test(dottedName(node))) return true;
  const bare = unwrap(node);
  const imported = ts.isIdentifier(bare) ? declarationOf(flow.program, bare)?.imported : undefined;
  return imported !== undefined && /(^|[/:@])cors(@[\d^~].*)?$/.test(imported.specifier);
}

const allowsCredentials = (text: string): boolean =>
  /access-control-allow-credentials['"`]?\s*[\],:=)]*\s*[,:=]?\s*['"`]?true/i.test(text);

/** Whether a node sets `'Access-Control-Allow-Origin'` to `'*'`. Used only if credentials are allowed as well. */
function isStar(node: ts.Node): boolean {
  if (ts.isPropertyAssignment(node)) {
    return /access-control-allow-origin/i.test(node.name.getText()) && textOf(node.initializer) === '*';
  }
  if (!ts.isCallExpression(node)) return false;
  return /access-control-allow-origin/i.test(textOf(node.arguments[0]) ?? '') && textOf(node.arguments[1]) === '*';
}

function corsCall(flow: Flow, call: ts.CallExpression, index = 0): readonly Hit[] {
  const argument = call.arguments[index];
  const options = argument && (constantInitialiserOf(flow.program, argument) ?? unwrap(argument));
  // The options come from a function, as in `cors((request, done) => done(null, { origin: true, credentials: true }))`.
  if (options !== undefined && isFunction(options))
    return objectsIn(options).flatMap((each) => corsOptions(flow, each));
  return corsOptions(flow, options);
}

function objectsIn(fn: FunctionNode): readonly ts.ObjectLiteralExpression[] {
  const objects: ts.ObjectLiteralExpression[] = [];
  walk(fn, (node) => {
    if (ts.isObjectLiteralExpression(node)) objects.push(node);
    return objects.length < 20;
  });
  return objects;
}

function corsOptions(flow: Flow, options: ts.Expression | undefined): readonly Hit[] {
  if (propertyOf(options, 'credentials')?.kind !== ts.SyntaxKind.TrueKeyword) return [];
  const origin = propertyOf(options, 'origin') ?? methodOf(options, 'origin');
  if (origin === undefined || !isOpenOrigin(flow, origin)) return [];
  return [{ rule: 'open_cors', at: origin, label: 'request', source: origin }];
}

function methodOf(options: ts.Expression | undefined, name: string): FunctionNode | undefined {
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return undefined;
  const methods = options.properties.filter(ts.isMethodDeclaration);
  const method: ts.Node | undefined = methods.find((each) => each.name.getText() === name);
  return method !== undefined && isFunction(method) ? method : undefined;
}

function isOpenOrigin(flow: Flow, node: ts.Node): boolean {
  const value = ts.isExpression(node) ? (constantInitialiserOf(flow.program, node) ?? unwrap(node)) : node;
  if (value.kind === ts.SyntaxKind.TrueKeyword || textOf(value) === '*') return true;
  const expression = readRegExp(value);
  if (expression !== undefined) {
    const isWhole = expression.source.startsWith('^') && expression.source.endsWith('$');
    return !isWhole || (usesSafeAfterMatch(expression, true, true) & uses.cors) === 0;
  }
  if (ts.isArrayLiteralExpression(value)) return value.elements.some((each) => isOpenOrigin(flow, each));
  return findFunctions(flow.program, value).some((fn) => acceptsAnyOrigin(flow, fn));
}

/** Whether a function returns the origin, or calls back with it or with true, without checking it. */
function acceptsAnyOrigin(flow: Flow, fn: FunctionNode): boolean {
  const [first, second] = fn.parameters;
  const declaration = first && ts.isIdentifier(first.name) ? declarationOf(flow.program, first.name) : undefined;
  const isUnchecked = (node: ts.Node): boolean => {
    if (declaration === undefined) return true;
    const origin = { ...originOf('request', node), trail: [keyOf(declaration, [])] };
    return checksAt(flow, node, [origin]).some(({ safeFor }) => (safeFor & uses.cors) === 0);
  };
  const accepted: ts.Node[] = [];
  if (second === undefined) {
    for (const returned of returnsOf(fn)) {
      const origins = flow.originsOf(returned);
      if (origins.some(({ parameter, safeFor }) => parameter?.fn === fn && (safeFor & uses.cors) === 0)) return true;
      if (unwrap(returned).kind === ts.SyntaxKind.TrueKeyword || textOf(returned) === '*') accepted.push(returned);
    }
  } else {
    walk(fn, (node) => {
      if (!ts.isCallExpression(node) || dottedName(node.expression) !== second.name.getText()) return true;
      const value = node.arguments[1] && unwrap(node.arguments[1]);
      const isAccepting = value?.kind === ts.SyntaxKind.TrueKeyword || (value !== undefined && ts.isIdentifier(value));
      if (isAccepting) accepted.push(node);
      return true;
    });
  }
  return accepted.some(isUnchecked);
}
