import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Allocates, keeps a part, calls System.gc() three times, and prints what the JVM's own beans counted. */
public class GcLoad {
  public static void main(String[] args) {
    List<byte[]> kept = new ArrayList<>();
    Random random = new Random(1);
    int rounds = 60_000;
    for (int round = 1; round <= rounds; round++) {
      byte[] block = new byte[1_000 + random.nextInt(60_000)];
      if (random.nextInt(20) == 0) {
        kept.add(block);
      }
      if (kept.size() > 500) {
        kept.subList(0, 250).clear();
      }
      if (round % (rounds / 3) == 0) {
        System.gc();
      }
    }
    StringBuilder counts = new StringBuilder();
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
      counts.append(bean.getName()).append('\t').append(bean.getCollectionCount()).append('\t');
      counts.append(bean.getCollectionTime()).append('\n');
    }
    System.out.print(counts);
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
