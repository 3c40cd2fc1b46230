// Runs as a separate process that draws requested images one at a time. It decodes untrusted files with native code, so
// a crash affects only this process, and its parent kills it if an image takes too long. Its environment is empty, and
// if the worker is root, it runs as another user without network (kit/unprivileged.ts).
import { getPriority, setPriority } from 'node:os';
import { createCanvas } from '@napi-rs/canvas';
import { imageSizes } from '../../rules/slots.ts';
import { colourOf, parseHex } from './colours.ts';
import { drawAd } from './draw.ts';
import { readLogo } from './logo.ts';
import type { RenderAnswer, RenderRequest } from './renderer.ts';

const quality = 92;

async function render(request: RenderRequest) {
  const size = imageSizes[request.slot];
  const logo = request.logo && (await readLogo(Buffer.from(request.logo)));
  const accent = request.accent === null ? undefined : parseHex(request.accent);
  const colour = logo?.colour ?? accent ?? colourOf(request.app_id);
  const canvas = createCanvas(size.width, size.height);
  drawAd(canvas.getContext('2d'), { ...request, ...size, colour, logo: logo?.image });
  return { image: await canvas.encode('jpeg', quality), hasLogo: logo !== undefined };
}

// Lower priority than requests. Only root may take a higher one than the server was started with.
setPriority(Math.max(getPriority(), 10));
process.on('message', async (request: RenderRequest) => {
  const answer: RenderAnswer = await render(request).then(
    (drawn) => ({ ...drawn, rssBytes: process.memoryUsage.rss() }),
    (error) => ({ error: String(error), rssBytes: process.memoryUsage.rss() }),
  );
  process.send?.(answer);
});
