package zlimit.compat.libraries;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Redisson's limiter sends the JVM's own time to its script and takes no other. This agent, which the jar's manifest
 * starts before main, lets that one class read the held clock instead. Nothing else in Redisson is touched.
 */
public final class RedissonClock implements ClassFileTransformer {
    private static final String LIMITER = "org/redisson/RedissonRateLimiter";

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new RedissonClock());
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (!LIMITER.equals(name)) {
            return null;
        }
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String generic, String[] thrown) {
                return new HeldTime(super.visitMethod(access, method, type, generic, thrown));
            }
        }, 0);
        return writer.toByteArray();
    }

    private static final class HeldTime extends MethodVisitor {
        HeldTime(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String method, String type, boolean ofInterface) {
            boolean time = owner.equals("java/lang/System") && method.equals("currentTimeMillis");
            String clock = time ? "zlimit/compat/libraries/HeldClock" : owner;
            super.visitMethodInsn(opcode, clock, method, type, ofInterface);
        }
    }
}
