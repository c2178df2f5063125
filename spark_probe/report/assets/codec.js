// Decodes the data blocks of the page. The twin of encode.py, which documents the layout.

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

/** Base64 of a zlib stream -> its bytes. */
export async function inflate(base64) {
  const binary = atob(base64);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < packed.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Byte planes (all first bytes, all second bytes, …) -> a typed array of `length` elements. */
function fromPlanes(bytes, at, Type, length) {
  const width = Type.BYTES_PER_ELEMENT;
  const out = new Type(length);
  const target = new Uint8Array(out.buffer);
  for (let plane = 0; plane < width; plane++) {
    const base = at + plane * length;
    for (let i = 0, j = plane; i < length; i++, j += width) target[j] = bytes[base + i];
  }
  return out;
}

function undelta(zigzag) {
  const out = new Int32Array(zigzag.length);
  let value = 0;
  for (let i = 0; i < zigzag.length; i++) {
    const z = zigzag[i];
    value += z & 1 ? -((z + 1) / 2) : z / 2;
    out[i] = value;
  }
  return out;
}

/** The columns of one inflated block: name -> typed array, or array of strings. */
export function decodeColumns(bytes, layout) {
  const columns = {};
  let at = 0;
  for (const { name, type, encoding, length, table = 0, count = 0 } of layout) {
    if (encoding === "text") {
      const text = new TextDecoder().decode(bytes.subarray(at, at + length));
      columns[name] = count ? text.split("\n") : [];
      at += length;
      continue;
    }
    const Type = TYPES[type];
    if (!Type) throw new Error(`data block: column ${name} has unknown type ${type}`);
    if (encoding === "dict") {
      const values = fromPlanes(bytes, at, Float64Array, table);
      at += table * 8;
      const codes = fromPlanes(bytes, at, Type, length);
      at += length * Type.BYTES_PER_ELEMENT;
      columns[name] = Float64Array.from(codes, (code) => values[code]);
      continue;
    }
    const plain = fromPlanes(bytes, at, Type, length);
    at += length * Type.BYTES_PER_ELEMENT;
    columns[name] = encoding === "delta" ? undelta(plain) : plain;
  }
  if (at !== bytes.length) throw new Error(`data block: ${bytes.length} bytes, columns take ${at}`);
  return columns;
}

function blockText(id) {
  const element = document.getElementById(`block-${id}`);
  if (!element) throw new Error(`data block ${id} is missing from the page`);
  return element.textContent.trim();
}

/** The columns of the page's block `id`, whose layout stands in the document. */
export async function readBlock(id, layout) {
  return decodeColumns(await inflate(blockText(id)), layout);
}

/** The page's document: what report.py and flamepage.py put together. */
export async function readDocument() {
  return JSON.parse(new TextDecoder().decode(await inflate(blockText("document"))));
}
