// Tests whether a webhook verifies an event's sender: signatures that are compared, and signatures that are only read.
// Each vulnerable example has a harmless twin.
import { describe } from 'vitest';
import { type Twins, testTwins } from '../../../../test/support/code-findings.ts';

const rule = 'functions.unverified-webhook';

const before = `import { createHmac, timingSafeEqual } from 'node:crypto';
import postgres from 'npm:postgres@3';
const sql = postgres(Deno.env.get('DATABASE_URL'));
const secret = Deno.env.get('WEBHOOK_SECRET');
`;

/** `check` can use the request's body and its signature. */
const hook = (check: string) => `Deno.serve(async (request) => {
  const text = await request.text();
  const sent = request.headers.get('x-hub-signature-256') ?? '';
${check}
  const event = JSON.parse(text);
  await sql\`insert into pushes (ref) values (\${event.ref})\`;
  return new Response(null, { status: 204 });
});`;
const digest = "const digest = createHmac('sha256', secret).update(text).digest('hex');\n";
const refuse = 'return new Response(null, { status: 401 });';
const unequal = "!timingSafeEqual(Buffer.from('sha256=' + digest), Buffer.from(sent))";

const twins: readonly Twins[] = [
  {
    name: 'a digest that is computed and not compared',
    rule,
    faulty: hook(`${digest}console.log('signature', digest, sent);`),
    harmless: hook(`${digest}if (sent !== 'sha256=' + digest) ${refuse}`),
  },
  {
    name: 'a comparison whose result is dropped',
    rule,
    faulty: hook(`${digest}timingSafeEqual(Buffer.from(digest), Buffer.from(sent));`),
    harmless: hook(`${digest}if (${unequal}) ${refuse}`),
  },
  {
    name: 'a comparison whose result is only written down',
    rule,
    faulty: hook(
      `${digest}const isValid = timingSafeEqual(Buffer.from(digest), Buffer.from(sent));\nconsole.log({ isValid });`,
    ),
    harmless: hook(
      `${digest}const isValid = timingSafeEqual(Buffer.from(digest), Buffer.from(sent));\nconsole.log({ isValid });\nif (!isValid) ${refuse}`,
    ),
  },
  {
    name: 'a comparison of lengths',
    rule,
    faulty: hook(`${digest}if (sent.length !== digest.length) ${refuse}`),
    harmless: hook(`${digest}if (sent.length !== digest.length || sent !== digest) ${refuse}`),
  },
  {
    name: 'a wrong signature that is only reported',
    rule,
    faulty: hook(`${digest}if (${unequal}) console.error('wrong signature');`),
    harmless: hook(`${digest}if (${unequal}) { console.error('wrong signature'); ${refuse} }`),
  },
  {
    name: 'a signature that is checked only if one was sent',
    rule,
    faulty: hook(`${digest}if (sent && sent !== 'sha256=' + digest) ${refuse}`),
    harmless: hook(`${digest}if (!sent || sent !== 'sha256=' + digest) ${refuse}`),
  },
  {
    name: 'a signature that is checked in a branch for one that was sent',
    rule,
    faulty: hook(`if (sent) {\n${digest}if (sent !== 'sha256=' + digest) ${refuse}\n}`),
    harmless: hook(`if (sent) {\n${digest}if (sent !== 'sha256=' + digest) ${refuse}\n} else ${refuse}`),
  },
  {
    name: 'a signature that is only there',
    rule,
    faulty: hook(`if (!sent) ${refuse}`),
    harmless: hook(`if (!(await verifySignature(secret, text, sent))) ${refuse}`),
  },
  {
    name: 'a signature that is compared with one of the body',
    rule,
    faulty: hook(`if (sent !== JSON.parse(text).signature) ${refuse}`),
    harmless: hook(`${digest}const mine = \`sha256=\${digest}\`;\nif (sent !== mine) ${refuse}`),
  },
  {
    name: 'a helper whose result is dropped',
    rule,
    faulty: `function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  return timingSafeEqual(Buffer.from(mine), Buffer.from(sent));
}
${hook('isSigned(text, sent);')}`,
    harmless: `function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  return timingSafeEqual(Buffer.from(mine), Buffer.from(sent));
}
${hook(`if (!isSigned(text, sent)) ${refuse}`)}`,
  },
  {
    name: 'a helper that always agrees',
    rule,
    faulty: `function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  if (mine !== sent) console.warn('wrong signature', sent);
  return true;
}
${hook(`if (!isSigned(text, sent)) ${refuse}`)}`,
    harmless: `function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  if (mine !== sent) {
    console.warn('wrong signature', sent);
    return false;
  }
  return true;
}
${hook(`if (!isSigned(text, sent)) ${refuse}`)}`,
  },
  {
    name: 'a promise that nobody waits for',
    rule,
    faulty: hook("verifySignature(secret, text, sent).then((ok) => { if (!ok) console.error('wrong'); });"),
    harmless: hook(`const ok = await verifySignature(secret, text, sent);\nif (!ok) ${refuse}`),
  },
  {
    name: 'an effect before the check',
    rule,
    faulty: `Deno.serve(async (request) => {
  const text = await request.text();
  await sql\`insert into pushes (body) values (\${text})\`;
  const sent = request.headers.get('x-hub-signature-256');
  ${digest}if (sent !== digest) ${refuse}
  return new Response();
});`,
    harmless: `Deno.serve(async (request) => {
  const text = await request.text();
  const sent = request.headers.get('x-hub-signature-256');
  ${digest}if (sent !== digest) ${refuse}
  await sql\`insert into pushes (body) values (\${text})\`;
  return new Response();
});`,
  },
  {
    name: 'the signature of Web Crypto',
    rule,
    faulty: hook("await crypto.subtle.verify('HMAC', key, hexToBytes(sent), new TextEncoder().encode(text));"),
    harmless: hook(
      `const ok = await crypto.subtle.verify('HMAC', key, hexToBytes(sent), new TextEncoder().encode(text));\nif (!ok) ${refuse}`,
    ),
  },
  {
    name: 'Stripe with an error that is swallowed',
    rule,
    faulty: `Deno.serve(async (request) => {
  const text = await request.text();
  let event = JSON.parse(text);
  try {
    event = stripe.webhooks.constructEvent(text, request.headers.get('stripe-signature'), secret);
  } catch (error) {
    console.error('wrong signature', error);
  }
  if (event.type === 'invoice.paid') await sql\`update invoices set paid = true where id = \${event.data.object.id}\`;
  return new Response();
});`,
    harmless: `Deno.serve(async (request) => {
  const text = await request.text();
  let event;
  try {
    event = stripe.webhooks.constructEvent(text, request.headers.get('stripe-signature'), secret);
  } catch (error) {
    return new Response(error.message, { status: 400 });
  }
  if (event.type === 'invoice.paid') await sql\`update invoices set paid = true where id = \${event.data.object.id}\`;
  return new Response();
});`,
  },
  {
    name: 'Stripe with the body instead of the event',
    rule,
    faulty: `export const handler = async (event) => {
  const { type, data } = JSON.parse(event.body);
  if (type === 'checkout.session.completed') await sql\`update orders set paid = true where id = \${data.object.id}\`;
  return { statusCode: 200 };
};`,
    harmless: `export const handler = async (event) => {
  const { type, data } = stripe.webhooks.constructEvent(event.body, event.headers['stripe-signature'], secret);
  if (type === 'checkout.session.completed') await sql\`update orders set paid = true where id = \${data.object.id}\`;
  return { statusCode: 200 };
};`,
  },
  {
    name: 'Svix',
    rule,
    faulty: `export async function POST(request) {
  const webhook = new Webhook(secret);
  const id = request.headers.get('svix-id');
  const event = JSON.parse(await request.text());
  if (event.type === 'user.created') await sql\`insert into users (id) values (\${event.data.id})\`;
  return new Response(id);
}`,
    harmless: `export async function POST(request) {
  const webhook = new Webhook(secret);
  const event = webhook.verify(await request.text(), Object.fromEntries(request.headers));
  if (event.type === 'user.created') await sql\`insert into users (id) values (\${event.data.id})\`;
  return new Response(request.headers.get('svix-id'));
}`,
  },
  {
    name: 'Slack',
    rule,
    faulty: `export async function POST(request) {
  const body = await request.text();
  const time = request.headers.get('x-slack-request-timestamp');
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) ${refuse}
  const params = new URLSearchParams(body);
  await sql\`insert into messages (text) values (\${params.get('text')})\`;
  return new Response(request.headers.get('x-slack-signature'));
}`,
    harmless: `export async function POST(request) {
  const body = await request.text();
  const time = request.headers.get('x-slack-request-timestamp');
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) ${refuse}
  const mine = 'v0=' + createHmac('sha256', secret).update('v0:' + time + ':' + body).digest('hex');
  if (mine !== request.headers.get('x-slack-signature')) ${refuse}
  const params = new URLSearchParams(body);
  await sql\`insert into messages (text) values (\${params.get('text')})\`;
  return new Response();
}`,
  },
  {
    name: 'Twilio',
    rule,
    faulty: `app.post('/webhooks/sms', async (req, res) => {
  twilio.validateRequest(secret, req.headers['x-twilio-signature'], url, req.body);
  await sql\`insert into messages (text) values (\${req.body.Body})\`;
  res.end();
});`,
    harmless: `app.post('/webhooks/sms', async (req, res) => {
  if (!twilio.validateRequest(secret, req.headers['x-twilio-signature'], url, req.body)) return res.sendStatus(403);
  await sql\`insert into messages (text) values (\${req.body.Body})\`;
  res.end();
});`,
  },
  {
    name: 'Paddle',
    rule,
    faulty: `export async function POST(request) {
  const { event_type, data } = await request.json();
  if (event_type === 'subscription.created') await sql\`insert into subscriptions (id) values (\${data.id})\`;
  return new Response();
}`,
    harmless: `export async function POST(request) {
  const signature = request.headers.get('paddle-signature') ?? '';
  const event = await paddle.webhooks.unmarshal(await request.text(), secret, signature);
  if (event.eventType === 'subscription.created') await sql\`insert into subscriptions (id) values (\${event.data.id})\`;
  return new Response();
}`,
  },
  {
    name: 'Shopify with a router',
    rule,
    faulty: `app.post('/webhooks/orders', express.raw({ type: '*/*' }), async (req, res) => {
  const shop = req.get('x-shopify-shop-domain');
  await sql\`insert into orders (shop, body) values (\${shop}, \${req.body})\`;
  res.end();
});`,
    harmless: `function fromShopify(req, res, next) {
  const digest = createHmac('sha256', secret).update(req.body).digest();
  const sent = Buffer.from(req.get('x-shopify-hmac-sha256') ?? '', 'base64');
  if (sent.length !== digest.length || !timingSafeEqual(digest, sent)) return res.status(401).end();
  next();
}
app.post('/webhooks/orders', express.raw({ type: '*/*' }), fromShopify, async (req, res) => {
  await sql\`insert into orders (shop, body) values (\${req.get('x-shopify-shop-domain')}, \${req.body})\`;
  res.end();
});`,
  },
  {
    name: 'several secrets',
    rule,
    faulty: hook(
      `let isValid = false;\nfor (const key of [secret, oldSecret]) {\n  const mine = createHmac('sha256', key).update(text).digest('hex');\n  if (mine === sent) isValid = true;\n}\nconsole.log({ isValid });`,
    ),
    harmless: hook(
      `let isValid = false;\nfor (const key of [secret, oldSecret]) {\n  const mine = createHmac('sha256', key).update(text).digest('hex');\n  if (mine === sent) isValid = true;\n}\nif (!isValid) ${refuse}`,
    ),
  },
  {
    name: 'a flag that is set after the check',
    rule,
    faulty: hook("let isValid = true;\ntry { webhook.verify(text, sent); } catch { console.warn('wrong'); }"),
    harmless: hook(
      `let isValid = false;\ntry { webhook.verify(text, sent); isValid = true; } catch {}\nif (!isValid) ${refuse}`,
    ),
  },
  {
    name: 'a part of the signature',
    rule,
    faulty: hook(`${digest}if (!digest.includes(sent)) ${refuse}`),
    harmless: hook(`${digest}if (![digest, 'sha256=' + digest].some((mine) => mine === sent)) ${refuse}`),
  },
  {
    name: 'an async helper that is not awaited',
    rule,
    faulty: `async function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  return mine === sent;
}
${hook(`if (!isSigned(text, sent)) ${refuse}`)}`,
    harmless: `async function isSigned(text, sent) {
  const mine = createHmac('sha256', secret).update(text).digest('hex');
  return mine === sent;
}
${hook(`if (!(await isSigned(text, sent))) ${refuse}`)}`,
  },
  {
    name: 'a hook that deploys',
    rule,
    faulty: `import { execSync } from 'node:child_process';
app.post('/hooks/deploy', (req, res) => {
  if (req.get('x-github-event') === 'push') execSync('git pull && npm ci');
  res.end();
});`,
    harmless: `import { execSync } from 'node:child_process';
app.post('/hooks/deploy', (req, res) => {
  const mine = 'sha256=' + createHmac('sha256', secret).update(req.rawBody).digest('hex');
  if (req.get('x-hub-signature-256') !== mine) return res.sendStatus(401);
  if (req.get('x-github-event') === 'push') execSync('git pull && npm ci');
  res.end();
});`,
  },
  {
    name: 'a provider that is asked',
    rule,
    faulty: `export async function POST(request) {
  const event = await request.json();
  await fetch('https://api.paypal.example/v1/log', { method: 'POST', body: request.headers.get('paypal-transmission-id') });
  await sql\`update orders set paid = true where id = \${event.resource.id}\`;
  return new Response();
}`,
    harmless: `export async function POST(request) {
  const event = await request.json();
  const asked = await fetch('https://api.paypal.example/v1/notifications/verify-webhook-signature', {
    method: 'POST',
    body: JSON.stringify({ transmission_id: request.headers.get('paypal-transmission-id'), webhook_event: event }),
  });
  if ((await asked.json()).verification_status !== 'SUCCESS') ${refuse}
  await sql\`update orders set paid = true where id = \${event.resource.id}\`;
  return new Response();
}`,
  },
  {
    name: 'a token of the address',
    rule,
    faulty: `app.post('/hooks/:token', async (req, res) => {
  if (req.params.token.length < 20) return res.sendStatus(404);
  await sql\`insert into pushes (ref) values (\${req.body.ref})\`;
  res.end();
});`,
    harmless: `app.post('/hooks/:token', async (req, res) => {
  if (req.params.token !== Deno.env.get('HOOK_TOKEN')) return res.sendStatus(404);
  await sql\`insert into pushes (ref) values (\${req.body.ref})\`;
  res.end();
});`,
  },
];

describe('webhooks that accept events of anybody', () => testTwins(twins, { path: 'functions/f.ts', before }));
