// The frame names of the page, sorted by name: a frame id is a name's rank.
import { readBlock } from "./codec.js";

/** {names, types: index into typeNames, typeNames, categories: index into the page's categories, 255: none} */
export async function readFrames(doc) {
  const { name, type, category } = await readBlock("frames", doc.blocks.frames);
  return { names: name, types: type, typeNames: doc.frame_types, categories: category };
}
