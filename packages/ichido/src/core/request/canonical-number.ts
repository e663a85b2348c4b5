/**
 * One spelling for each number, exactly: `1`, `1.0`, `1e0` and `10e-1` are one, 9007199254740992 and …993 are two. The
 * spelling is ECMAScript's (and so RFC 8785's) carried on past the precision of a double, so that `String(n)` of a
 * finite double is canonical as it stands. Nothing is ever expanded by its exponent: 1e999999999 stays ten characters.
 */

/** ECMAScript writes integers in full up to this many digits, and fractions up to this many leading zeros. */
export const plainDigitsMax = 21;
const leadingZerosMax = 5;
/** Keeps every sum of an exponent and a number of digits an exact integer. */
const exponentDigitsMax = 15;

const zero = 0x30;

const grammar = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;

/** Undefined when the text is no JSON number, or its exponent is too long to be compared exactly. */
export function canonicalNumber(text: string): string | undefined {
  const match = grammar.exec(text);
  if (match === null) return undefined;
  const [, sign = "", integer = "", fraction = "", exponentSign = "", exponentText = ""] = match;
  const digits = integer + fraction;
  const first = firstNonZero(digits);
  if (first === digits.length) return "0";
  const exponentDigits = exponentText.slice(firstNonZero(exponentText));
  if (exponentDigits.length > exponentDigitsMax) return undefined;
  const exponent = exponentSign === "-" ? -Number(exponentDigits) : Number(exponentDigits);
  const end = lastNonZero(digits) + 1;
  return sign + spell(digits.slice(first, end), integer.length - first + exponent);
}

/** The number 0.DIGITS × 10^pointAt, where DIGITS neither begins nor ends with a zero. */
function spell(digits: string, pointAt: number): string {
  if (digits.length <= pointAt && pointAt <= plainDigitsMax) return digits + "0".repeat(pointAt - digits.length);
  if (0 < pointAt && pointAt <= plainDigitsMax) return `${digits.slice(0, pointAt)}.${digits.slice(pointAt)}`;
  if (-leadingZerosMax <= pointAt && pointAt <= 0) return `0.${"0".repeat(-pointAt)}${digits}`;
  const exponent = pointAt - 1;
  const mantissa = digits.length === 1 ? digits : `${digits.slice(0, 1)}.${digits.slice(1)}`;
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
}

function firstNonZero(digits: string): number {
  let index = 0;
  while (index < digits.length && digits.charCodeAt(index) === zero) index += 1;
  return index;
}

function lastNonZero(digits: string): number {
  let index = digits.length - 1;
  while (index >= 0 && digits.charCodeAt(index) === zero) index -= 1;
  return index;
}
