// The image design. A tile with the logo or the name's first letter stands in front of rings, with the name and a
// headline, all in shades of one colour. Text is sparse and there is no button, because the ad platform shows its own
// text and button next to the image.
import type { Image, SKRSContext2D } from '@napi-rs/canvas';
import { type Oklch, toHex } from './colours.ts';
import { prepareText } from './fonts.ts';
import { drawText, isTextRightToLeft, type SetText, setText, type TextBox } from './lines.ts';

export const styles = ['deep', 'light', 'ink'] as const;
export type Style = (typeof styles)[number];

export interface Ad {
  readonly width: number;
  readonly height: number;
  readonly style: Style;
  readonly language: string;
  readonly name: string;
  readonly headline: string;
  /** Shown only in portrait images, which have room for it. */
  readonly description: string;
  readonly colour: Oklch;
  readonly logo: Image | undefined;
}

export function drawAd(context: SKRSContext2D, ad: Ad): void {
  const palette = toPalette(ad);
  const layout = planLayout(ad);
  drawGround(context, ad, palette, layout.art);
  drawRings(context, palette, layout);
  drawTile(context, ad, palette, layout.art);
  drawTexts(context, ad);
}

// ---- colours

interface Palette {
  readonly ground: readonly [from: string, to: string];
  readonly glow: string;
  readonly ring: string;
  readonly dots: readonly string[];
  readonly tile: string;
  readonly letter: string;
  readonly text: string;
  readonly quiet: string;
}

export function toPalette({ colour: { chroma, hue }, style }: Pick<Ad, 'colour' | 'style'>): Palette {
  const shade = (lightness: number, part = 1, turn = 0) =>
    toHex({ lightness, chroma: Math.min(chroma, 0.17) * part, hue: hue + turn });
  if (style === 'light')
    return {
      ground: [shade(0.985, 0.06), shade(0.925, 0.28)],
      glow: shade(0.84, 0.55),
      ring: shade(0.62, 0.8),
      dots: [shade(0.6), shade(0.72, 0.9, 0.5), shade(0.8, 0.7, -0.4)],
      tile: shade(0.55),
      letter: '#ffffff',
      text: shade(0.24, 0.35),
      quiet: shade(0.43, 0.4),
    };
  const isInk = style === 'ink';
  return {
    ground: isInk ? [shade(0.24, 0.3), shade(0.14, 0.2)] : [shade(0.44), shade(0.28, 0.85, 0.35)],
    glow: isInk ? shade(0.5) : shade(0.58, 0.9, -0.3),
    ring: shade(0.93, 0.25),
    dots: [shade(0.85, 0.6), shade(0.78, 0.9, 0.5), shade(0.95, 0.2)],
    tile: '#ffffff',
    letter: shade(0.45),
    text: '#ffffff',
    quiet: shade(0.93, 0.2),
  };
}

// ---- layout

interface Art {
  readonly x: number;
  readonly y: number;
  /** The tile's side length. */
  readonly size: number;
}

interface Layout {
  readonly art: Art;
  /** The box that contains all painted letters. */
  readonly text: TextBox;
  readonly isWide: boolean;
}

export function planLayout({ width, height, headline, name }: Ad): Layout {
  const margin = Math.round(Math.min(width, height) * 0.085);
  const isWide = width > height * 1.4;
  if (!isWide) {
    const top = Math.round(height * 0.585);
    const art = {
      x: width / 2,
      y: Math.round(height * 0.315),
      size: Math.round(Math.min(width, height * 0.75) * 0.33),
    };
    return { art, text: { x: margin, y: top, width: width - 2 * margin, height: height - top - margin }, isWide };
  }
  const isMirrored = isTextRightToLeft(headline || name);
  const textWidth = Math.round(width * 0.56) - margin;
  const text = {
    x: isMirrored ? width - margin - textWidth : margin,
    y: margin,
    width: textWidth,
    height: height - 2 * margin,
  };
  const centre = width * 0.79;
  return {
    art: { x: isMirrored ? width - centre : centre, y: height / 2, size: Math.round(height * 0.4) },
    text,
    isWide,
  };
}

// ---- background, rings and tile

function drawGround(context: SKRSContext2D, { width, height }: Ad, { ground, glow }: Palette, art: Art): void {
  const slope = context.createLinearGradient(0, 0, width, height);
  slope.addColorStop(0, ground[0]);
  slope.addColorStop(1, ground[1]);
  context.fillStyle = slope;
  context.fillRect(0, 0, width, height);
  const light = context.createRadialGradient(art.x, art.y, 0, art.x, art.y, art.size * 1.9);
  light.addColorStop(0, `${glow}b0`);
  light.addColorStop(0.45, `${glow}48`);
  light.addColorStop(1, `${glow}00`);
  context.fillStyle = light;
  context.fillRect(0, 0, width, height);
}

const rings = [
  { radius: 0.86, opacity: 0.42, angle: 3.75, dot: 0.052 },
  { radius: 1.18, opacity: 0.26, angle: 1.02, dot: 0.078 },
  { radius: 1.55, opacity: 0.16, angle: 2.45, dot: 0.036 },
  { radius: 1.98, opacity: 0.09, angle: 5.3, dot: 0.05 },
];

function drawRings(context: SKRSContext2D, { ring, dots }: Palette, { art, text }: Layout): void {
  const { x, y, size } = art;
  context.save();
  context.strokeStyle = ring;
  context.lineWidth = Math.max(2, size * 0.009);
  for (const [index, { radius, opacity, angle, dot }] of rings.entries()) {
    context.globalAlpha = opacity;
    traceCircle(context, x, y, radius * size);
    context.stroke();
    const [dotX, dotY] = [x + Math.cos(angle) * radius * size, y + Math.sin(angle) * radius * size];
    if (isNear(text, dotX, dotY, dot * size)) continue; // letters on top of a dot would be hard to read
    context.globalAlpha = 1 - index * 0.17;
    context.fillStyle = dots[index % dots.length] as string;
    traceCircle(context, dotX, dotY, dot * size);
    context.fill();
  }
  context.restore();
}

function traceCircle(context: SKRSContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

const isNear = (box: TextBox, x: number, y: number, distance: number): boolean =>
  x > box.x - distance && x < box.x + box.width + distance && y > box.y - distance && y < box.y + box.height + distance;

function drawTile(context: SKRSContext2D, ad: Ad, palette: Palette, { x, y, size }: Art): void {
  const [left, top] = [x - size / 2, y - size / 2];
  context.save();
  context.shadowColor = 'rgba(10, 14, 30, 0.28)';
  context.shadowBlur = size * 0.16;
  context.shadowOffsetY = size * 0.06;
  // Logos get a white background, because most are designed for one.
  context.fillStyle = ad.logo === undefined ? palette.tile : '#ffffff';
  context.beginPath();
  context.roundRect(left, top, size, size, size * 0.225);
  context.fill();
  context.restore();
  if (ad.logo !== undefined) drawLogo(context, ad.logo, { x, y, size: size * 0.66 });
  else drawLetter(context, ad, palette.letter, { x, y, size });
}

function drawLogo(context: SKRSContext2D, logo: Image, { x, y, size }: Art): void {
  const scale = size / Math.max(logo.width, logo.height);
  const [width, height] = [logo.width * scale, logo.height * scale];
  context.imageSmoothingQuality = 'high';
  context.drawImage(logo, x - width / 2, y - height / 2, width, height);
}

/** Draws the name's first letter, or a disc if the name can't be drawn. */
function drawLetter(context: SKRSContext2D, { name, language }: Ad, colour: string, { x, y, size }: Art): void {
  const { text, families } = prepareText(name, language);
  const [first] = new Intl.Segmenter(language).segment(text.replace(/^[^\p{L}\p{N}]+/u, ''));
  context.fillStyle = colour;
  if (first === undefined) {
    traceCircle(context, x, y, size * 0.2);
    context.fill();
    return;
  }
  const letter = first.segment.toLocaleUpperCase(language);
  context.font = `800 ${size * 0.56}px ${families}`;
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  context.direction = 'ltr';
  const { actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = context.measureText(letter);
  context.save();
  clipTo(context, { x: x - size / 2, y: y - size / 2, width: size, height: size });
  context.fillText(letter, x, y + (up - down) / 2);
  context.restore();
}

// ---- texts

/** A separate function, so a test can check where letters are painted. */
export function drawTexts(context: SKRSContext2D, ad: Ad): void {
  const { text: box, isWide } = planLayout(ad);
  const { text, quiet } = toPalette(ad);
  const unit = Math.min(ad.width, ad.height);
  const gap = unit * (isWide ? 0.035 : 0.022);
  const hasDescription = ad.height > ad.width && ad.description !== '';
  const { language } = ad;
  const textHeight = box.height - gap * (hasDescription ? 2 : 1);
  const share = (part: number) => ({ width: box.width, height: textHeight * part });
  const nameStyle = {
    weight: 600,
    maxSize: Math.round(unit * 0.05),
    minSize: 22,
    maxLines: 2,
    leading: 1.32,
    language,
  };
  const headlineStyle = {
    weight: 800,
    maxSize: Math.round(unit * (isWide ? 0.135 : 0.098)),
    minSize: 30,
    maxLines: isWide ? 4 : 3,
    leading: 1.22,
    language,
  };
  const descriptionStyle = {
    weight: 400,
    maxSize: Math.round(unit * 0.04),
    minSize: 22,
    maxLines: 3,
    leading: 1.4,
    language,
  };
  const blocks = [
    { set: setText(context, ad.name, share(hasDescription ? 0.22 : 0.28), nameStyle), colour: quiet },
    { set: setText(context, ad.headline, share(hasDescription ? 0.5 : 0.72), headlineStyle), colour: text },
    {
      set: hasDescription ? setText(context, ad.description, share(0.28), descriptionStyle) : undefined,
      colour: quiet,
    },
  ].filter((block): block is { set: SetText; colour: string } => block.set !== undefined);
  const height = blocks.reduce((sum, { set }) => sum + set.height, 0) + gap * (blocks.length - 1);
  let y = box.y + Math.max(0, (box.height - height) / 2);
  context.save();
  clipTo(context, box); // marks stacked above a letter are not measured
  for (const { set, colour } of blocks) {
    context.fillStyle = colour;
    drawText(context, set, { x: box.x, y, width: box.width });
    y += set.height + gap;
  }
  context.restore();
}

function clipTo(context: SKRSContext2D, { x, y, width, height }: TextBox): void {
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
}
