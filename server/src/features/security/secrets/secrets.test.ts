// Tests the secret search. Secrets are generated from a seed where they are used, so this file contains none.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mintHookToken, mintToken } from '../../../core/auth/tokens.ts';
import { scanSecrets } from './secrets.ts';

const key = Buffer.alloc(32, 7);
const now = new Date('2026-11-16T00:00:00Z');
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const hex = '0123456789abcdef';

/** Generates a string that looks random but is the same in every run. */
function draw(length: number, alphabet = base62, seed = 'a'): string {
  let text = '';
  for (let round = 0; text.length < length; round += 1)
    for (const byte of createHash('sha256').update(`${seed}${alphabet}${length}${round}`).digest())
      text += alphabet[byte % alphabet.length];
  return text.slice(0, length);
}

const toJwt = (payload: object) =>
  [{ alg: 'HS256', typ: 'JWT' }, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat(draw(43))
    .join('.');
const pem = (label: string, lines = 12) =>
  `-----BEGIN ${label}-----\n${Array.from({ length: lines }, (_, line) => draw(64, `${base62}+/`, String(line))).join('\n')}\n-----END ${label}-----`;

const scan = async (content: string, path = 'functions/pay.ts') =>
  (await scanSecrets({ path, content }, key, now)).findings;
const typesIn = async (content: string, path?: string) =>
  (await scan(content, path)).map(({ item }) => item.secret_type);

describe('secrets with a form of their own', () => {
  it.each([
    ['stripe', `const stripe = new Stripe('sk_live_51${draw(40)}');`],
    ['stripe', `const stripe = new Stripe('rk_live_${draw(24)}');`],
    ['stripe_test', `const stripe = new Stripe('sk_test_51${draw(40)}');`],
    ['stripe_webhook', `constructEvent(body, sig, "whsec_${draw(32)}")`],
    ['google', `fetch(\`https://x.example.net/v1beta/models?key=AIza${draw(35)}\`)`],
    ['google_oauth', `client_secret: 'GOCSPX-${draw(28)}'`],
    ['aws', `accessKeyId: 'AKIA${draw(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}'`],
    ['aws', `const key = { secretAccessKey: '${draw(40, `${base62}+/`)}' };`],
    ['twilio', `twilio('SK${draw(32, hex)}')`],
    ['twilio', `twilio('AC${draw(32, hex)}', '${draw(32, hex, 'b')}')`],
    ['telegram', `fetch('https://api.telegram.org/bot${draw(10, '123456789')}:AA${draw(33)}/sendMessage')`],
    ['url_credentials', `cloudinary://${draw(15, '123456789')}:${draw(27)}@mycloud`],
    ['google', `const GOOGLE_MAPS_API_KEY = 'AIza${draw(35)}'`],
    ['openai', `new OpenAI({ apiKey: 'sk-proj-${draw(74, `${base62}_-`)}' })`],
    ['openai', `const a = 'sk-${draw(20)}T3BlbkFJ${draw(20, base62, 'b')}'`],
    ['anthropic', `new Anthropic({ apiKey: 'sk-ant-api03-${draw(93)}AA' })`],
    ['huggingface', `headers: { Authorization: 'Bearer hf_${draw(34)}' }`],
    ['discord', `client.login('M${draw(25)}.${draw(6)}.${draw(38)}')`],
    ['telegram', `new Bot('${draw(10, '123456789')}:AA${draw(33)}')`],
    ['sendgrid', `sgMail.setApiKey('SG.${draw(22)}.${draw(43)}')`],
    ['mailgun', `mg({ key: 'key-${draw(32, hex)}' })`],
    ['mailchimp', `setConfig({ k: '${draw(32, hex)}-us21' })`],
    ['github', `new Octokit({ auth: 'ghp_${draw(36)}' })`],
    ['github', `git clone https://x; github_pat_${draw(22)}_${draw(59)}`],
    ['gitlab', `'PRIVATE-TOKEN': 'glpat-${draw(20)}'`],
    ['npm', `//registry.npmjs.org/:_authToken=npm_${draw(36)}`],
    ['slack', `new WebClient('xoxb-${draw(12, '123456789')}-${draw(13, '123456789')}-${draw(24)}')`],
    ['slack_webhook', `fetch('https://hooks.slack.com/services/T${draw(8)}/B${draw(8)}/${draw(24)}')`],
    ['shopify', `'X-Shopify-Access-Token': 'shpat_${draw(32, hex)}'`],
    ['supabase', `createClient(url, 'sb_secret_${draw(31)}')`],
    ['provider_token', `new Resend('re_${draw(8)}_${draw(24)}')`],
    ['jwt', `createClient(url, '${toJwt({ iss: 'supabase', role: 'service_role', iat: 1613531985 })}')`],
    ['jwt', `const t = "${toJwt({ sub: 'user-17', exp: 1893456000 })}"`],
    ['private_key', pem('RSA PRIVATE KEY')],
    ['private_key', `"private_key": ${JSON.stringify(pem('PRIVATE KEY'))}`],
    ['private_key', pem('PRIVATE KEY', 1)],
    ['url_credentials', `postgres://app:${draw(16)}@db.prod-cluster.net:5432/main`],
    ['url_credentials', `mongodb+srv://root:Tr0ub4dor@cluster0.ab1cd.mongodb.net`],
    ['plinth', `api_key: '${mintToken('personal_key', 'a1')}'`],
    ['plinth', `fetch('/api/hooks/${mintHookToken('a1')}')`],
  ])('reports %s', async (type, content) => {
    expect(await typesIn(content)).toEqual([type]);
  });

  it('reports a key that only the rules of secretlint know', async () => {
    expect(await typesIn(`const token = env.X; const t = "tskey-auth-${draw(12)}CNTRL-${draw(32)}";`)).toHaveLength(1);
  });

  it.each([
    ['publishable keys', `loadStripe('pk_live_51${draw(40)}'); createClient(url, 'sb_publishable_${draw(31)}')`],
    ['bytes in base64', `Buffer.from('AGFzbQ+EAA${draw(120)}+x/y', 'base64')`],
    [
      'placeholders',
      `new Stripe('sk_live_xxxxxxxxxxxxxxxxxxxxxxxx'); auth('ghp_${'x'.repeat(36)}'); k('sk-proj-your-api-key-goes-here-123')`,
    ],
    ['the key of the AWS documentation', `AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`],
    ['public tokens', `createClient(url, '${toJwt({ iss: 'supabase', role: 'anon', exp: 1929107985 })}')`],
    ['the token of the JWT documentation', toJwt({ sub: '1234567890', name: 'John Doe', iat: 1516239022 })],
    ['tokens that have expired', toJwt({ sub: 'user-17', exp: 1516239022 })],
    ['the web configuration of Firebase', `const c = { apiKey: "AIza${draw(35)}", authDomain: "x.firebaseapp.com" };`],
    ['public keys', pem('PUBLIC KEY')],
    ['private keys that were left out', '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----'],
    ['addresses on this machine', `postgres://app:${draw(12)}@localhost:5432/x redis://:${draw(12)}@127.0.0.1`],
    [
      'addresses of documentation',
      'https://user:pass@example.com postgres://USER:PASSWORD@HOST:5432/DB https://a:hunter2@db.example.com',
    ],
    [
      'passwords that are filled in',
      `const u = \`postgres://app:\${password}@db.prod.net/x\`; "mysql://root:<password>@db.prod.net"`,
    ],
  ])('does not report %s', async (_, content) => {
    expect(await typesIn(content)).toEqual([]);
  });
});

describe('secrets that their name gives away', () => {
  it.each([
    `const apiKey = "${draw(32)}";`,
    `const API_KEY: string = '${draw(24)}';`,
    `{ "client_secret": "${draw(40, hex)}" }`,
    `export const config = {\n  dbPassword: 'Summer2024!',\n};`,
    `const secret = env.JWT_SECRET || 'super-secret-jwt-key-2024';`,
    `const secret = Deno.env.get("SESSION_SECRET") ?? "k9-horse-battery";`,
    `headers.set('x-api-key', '${draw(32, hex)}')`,
    `headers: { Authorization: 'Bearer ${draw(40)}' }`,
    `headers: { Authorization: 'Basic ${Buffer.from('admin:V3ryS3cret').toString('base64')}' }`,
    `jwt.sign({ sub: user.id }, 'hunter2-hunter2')`,
    `crypto.createHmac('sha256', 'my-webhook-pass-9')`,
    `fetch('https://api.weather.net/v1?city=x&api_key=${draw(32, hex)}')`,
    `if (password === 'Tr0ub4dor&3') login();`,
    `body: 'grant_type=client_credentials&client_id=abc&client_secret=${draw(32)}'`,
    `const secret = new TextEncoder().encode('prod-signing-key-77');`,
    `mailer.setApiKey('${draw(32, hex)}')`,
    `'Basic ' + btoa('admin:V3ryS3cret')`,
    `if (req.headers['x-admin-token'] !== '${draw(24)}') throw new Error();`,
    `<Chat authToken="${draw(32)}" />`,
    `const API_TOKEN =\n  '${draw(32)}';`,
    `"Server=db.x.net;Database=a;User Id=sa;Password=Gr33nTree!;"`,
  ])('reports %s', async (content) => {
    expect(await typesIn(content)).toEqual(['generic']);
  });

  it.each([
    `const apiKey = env.API_KEY;`,
    `const apiKey = "changeme"; const token = 'xxxxxxxxxxxxxxxxxxxx'; const secret = "your-secret-key-here";`,
    `<input type="password" placeholder="password" name="new-password" autoComplete="current-password" />`,
    `const t = { password: 'Password', passwordLabel: 'Passwort', wrongPassword: 'auth/wrong-password' };`,
    `const TOKEN_STORAGE_KEY = 'plinth.session.token.v2'; const tokenName = 'access_token_v2_long';`,
    `const theme = { token: 'colorPrimaryBgHover12' };`,
    `const secretName = 'projects/1234/secrets/stripe-key'; const apiKeyHeader = 'X-Api-Key-Version-2';`,
    `const passwordHash = '$2b$10$${draw(53)}'; "integrity": "sha512-${draw(86)}=="`,
    `const siteKey = '6Lc${draw(37)}'; const publicKey = '${draw(40)}'; const NEXT_PUBLIC_API_KEY = '${draw(40)}'`,
    `const apiKey = \`\${prefix}-\${suffix}\`; const token = getToken("session-token-2024");`,
    `const API_KEY = 'STRIPE_SECRET_KEY';`,
    `const secret = env.SECRET ?? 'dev-secret-123'; const apiKey = env.KEY || 'demo-key-12345';`,
    `const requestToken = '123e4567-e89b-12d3-a456-426614174000'; const pageToken = '${draw(24)}';`,
    `datadogRum.init({ clientToken: 'pub${draw(32, hex)}' }); new Pusher({ appKey: '${draw(20, hex)}' })`,
    `const token = verify(btoa('user:password'), useToken('session-token'));`,
    `POSTGRES_PASSWORD: devpassword123`,
    `posthog.init('phc_${draw(40)}')`,
  ])('does not report %s', async (content) => {
    expect(await typesIn(content)).toEqual([]);
  });

  it('reports lines of settings files', async () => {
    const content = `# settings\nDATABASE_PASSWORD=Gr33nTree!\nPORT=8080\nexport API_TOKEN=${draw(32)}\nLOG_LEVEL=debug\n`;
    expect((await scan(content, '.env')).map(({ item }) => item.line)).toEqual([2, 4]);
    expect(await scan(content, '.env.example')).toEqual([]);
  });

  it('leaves values of tests alone, but not live keys', async () => {
    const content = `const password = 'Summer2024!'; const url = 'postgres://a:${draw(14)}@db.prod.net/x';`;
    expect(await typesIn(content, 'src/login.test.ts')).toEqual([]);
    expect(await typesIn(`const k = 'sk_live_51${draw(40)}'`, 'src/login.test.ts')).toEqual(['stripe']);
    expect(await typesIn(content, 'mocks/login.ts')).toEqual([]);
    // Browsers can read these files.
    for (const path of ['src/mocks/login.ts', 'public/fixtures/login.js', 'dist/login.test.js'])
      expect(await typesIn(content, path), path).not.toEqual([]);
  });

  it('leaves hashes of lock files alone', async () => {
    const content = `{"packages":{"node_modules/a":{"integrity":"sha512-${draw(86)}==","token":"${draw(40)}"}}}`;
    expect(await typesIn(content, 'package-lock.json')).toEqual([]);
  });
});

describe('a finding', () => {
  const secret = `sk_live_51${draw(40)}`;

  it('says where the secret is, and contains no more of it than four characters', async () => {
    const [finding] = await scan(`\n\nconst stripe = new Stripe('${secret}');\n`, 'src/pay.ts');
    expect(finding).toMatchObject({
      rule_id: 'secrets/stripe',
      severity: 'critical',
      position: { path: 'src/pay.ts', line: 3 },
      item: { file_path: 'src/pay.ts', line: 3, masked_value: 'sk_l…', reachable_from_browser: true },
    });
    expect(JSON.stringify(finding)).not.toContain(secret.slice(4, 12));
  });

  it('has the same identity wherever the secret is, and another one with another key', async () => {
    const [a] = await scan(`x('${secret}')`, 'src/a.ts');
    const [b] = await scan(`\n\n  const other = "${secret}"`, 'functions/b.ts');
    expect(a?.identity).toEqual(b?.identity);
    const other = await scanSecrets({ path: 'a.ts', content: `x('${secret}')` }, Buffer.alloc(32, 8));
    expect(other.findings[0]?.identity).not.toEqual(a?.identity);
  });

  it('is reported once per line, also where pieces of a long file overlap', async () => {
    const filler = `// ${'lorem ipsum dolor '.repeat(5)}\n`;
    const content = `${filler.repeat(1300)}a('${secret}', '${secret}');\n${filler.repeat(1300)}b('${secret}');`;
    expect((await scan(content)).map(({ position }) => position.line)).toEqual([1301, 2602]);
  });

  it.each(['secretlint-disable', 'eslint-disable secretlint-disable-line'])(
    'is not switched off by the comment %s',
    async (comment) => {
      expect(
        await typesIn(`// ${comment}\nconst t = "tskey-auth-${draw(12)}CNTRL-${draw(32)}"; // ${comment}`),
      ).toHaveLength(1);
    },
  );
});

it('a file with too many secrets reports the most severe, and says that there are more', async () => {
  const lines = Array.from({ length: 250 }, (_, at) => `const t = 'sk_test_51${draw(40, base62, String(at))}';`);
  const content = [...lines, `const s = 'sk_live_51${draw(40)}';`].join('\n');
  const { findings, isComplete } = await scanSecrets({ path: 'functions/pay.ts', content }, key, now);
  expect(findings).toHaveLength(200);
  expect(findings.map(({ item }) => item.secret_type)).toContain('stripe');
  expect(isComplete).toBe(false);
});

describe('a hostile file', () => {
  const size = 512 * 1024;
  it.each([
    ['secret', 'secret'],
    ['assignments', 'apiKey="aaaaaa"'],
    ['names', 'api_key_'],
    ['open quotes', `="a'b\``],
    ['questions', 'a?b:c='],
    ['addresses', 'a://b:c@'],
    ['begun keys', '-----BEGIN PRIVATE KEY-----'],
    ['begun tokens', 'eyJhbGciOiJ.'],
    ['digits', '1234567:'],
    ['words', 'a-b_c.d'],
    ['spaces', ' \t '],
    ['AKIA', 'AKIA'],
    ['sk-', 'sk-'],
  ])('takes little time: %s', async (_, part) => {
    const before = process.cpuUsage();
    const found = await scan(part.repeat(Math.ceil(size / part.length)), 'src/x.env');
    expect(found.length).toBeLessThanOrEqual(200);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });
});
