export async function showReport() {}
